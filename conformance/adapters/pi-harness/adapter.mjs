// The oracle adapter of the harness profile: serves the plug-in protocol (spec/protocol.md) with the second
// implementation of compaction that Pi publishes, the harness of @earendil-works/pi-agent-core.
//
// It only translates, and shares what does not depend on the operations with the adapter `pi` next door.

import { load as loadFile, manifestOf } from "../pi/surroundings.mjs";
import { description, serve } from "../pi/serving.mjs";

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// ---- the package ---------------------------------------------------------------------------------------------------

const manifest = manifestOf("pi-agent-core");
const load = (file) => loadFile(join("pi-agent-core/dist/harness", file));

const { BACKGROUND_CONTEXT } = await load("context.js");
const { NodeExecutionEnv } = await load("env/nodejs.js");
const { insertEntry } = await load("session/commit.js");
const { buildContextEntries, buildSessionContext } = await load("session/context.js");
const { JsonlSessionRepo } = await load("session/jsonl/repo.js");
const { JsonlStorage } = await load("session/jsonl/storage.js");
const { MemoryStorage } = await load("session/memory.js");
const { StorageBackedSession } = await load("session/session.js");
const { branchTip, setValue } = await load("session/values.js");
const { convertToLlm } = await load("messages.js");
const compaction = await load("compaction/compaction.js");
const files = await load("compaction/utils.js");

const context = BACKGROUND_CONTEXT;
const BRANCH = "main";

// ---- sessions in memory --------------------------------------------------------------------------------------------

/** A storage that holds the entries as an opened file would, checked by Pi in the same way, with the branch at the leaf. */
function storageOf({ entries, leafId }) {
    const storage = new MemoryStorage();
    const state = storage.storageState;
    const writes = entries.map((entry) => ({ ...entry, kind: "entry" }));
    state.validateCommitted(writes);
    state.applyValidated(writes);
    const tip = leafId === undefined ? (entries.at(-1)?.id ?? null) : leafId;
    state.applyValueSetOrListAppend({ ...setValue(branchTip(BRANCH), tip), seq: 0 });
    return { storage, tip };
}

/** The path of the leaf, root first. */
async function pathOf(params) {
    const { storage, tip } = storageOf(params);
    return tip === null ? [] : storage.scanBranch({ start: tip, order: "oldestFirst" }, context);
}

// ---- sessions in files ---------------------------------------------------------------------------------------------

async function inFolder(use) {
    const folder = mkdtempSync(join(tmpdir(), "pi-harness-"));
    try {
        return await use(folder, new NodeExecutionEnv({ cwd: folder }));
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

/** Opens a session file that holds the given content, lets `use` work on it, and takes it away again. */
function withFile({ content, contentBase64 }, use) {
    return inFolder(async (folder, fileSystem) => {
        const path = join(folder, "session.jsonl");
        writeFileSync(path, contentBase64 === undefined ? content : Buffer.from(contentBase64, "base64"));
        return use(await JsonlStorage.open({ fileSystem, path }, context), path);
    });
}

async function parsed(storage) {
    const entries = await storage.scanEntries({ order: "asc" }, context);
    const tip = await storage.getValue(branchTip(BRANCH), context);
    return { header: storage.header, entries, leafId: tip?.value ?? null };
}

/** The text of the file after the drafts were appended to the branch; `null` content asks for a new session. */
async function written(params) {
    if (params.content !== null) {
        return withFile(params, async (storage, path) => {
            const session = new StorageBackedSession({ id: storage.header.id }, storage);
            await appendAll(session, params.drafts);
            return readFileSync(path).toString("utf8");
        });
    }
    return inFolder(async (folder, fileSystem) => {
        const repo = new JsonlSessionRepo({ fileSystem, sessionsRoot: folder });
        const session = await repo.create({ cwd: "/" }, context);
        await appendAll(session, params.drafts);
        const name = readdirSync(folder, { recursive: true }).find((file) => file.endsWith(".jsonl"));
        return readFileSync(join(folder, name)).toString("utf8");
    });
}

async function appendAll(session, drafts) {
    if (drafts.length === 0) return;
    const branch = (await session.branch(BRANCH, context)) ?? (await session.createBranch(BRANCH, null, context));
    for (const draft of drafts) await append(session, branch, draft);
}

/** Messages and custom entries have a function of their own; the others are committed as the harness commits them. */
async function append(session, branch, draft) {
    if (draft.type === "message") return branch.appendMessage(draft.message, context);
    if (draft.type === "custom") return branch.appendCustomEntry(draft.customType, draft.data, context);
    const id = session.idGenerator.next();
    const tipId = await branch.getTipId(context);
    if (draft.type === "compaction") {
        const writes = [insertEntry({ id, parentId: tipId, ...draft }), setValue(branchTip(BRANCH), id)];
        await session.mutate((mutator) => mutator.commit(writes, context), context);
        return id;
    }
    if (draft.type === "branch_summary") {
        const { branchFromId, ...rest } = draft;
        const writes = [
            setValue(branchTip(BRANCH), branchFromId),
            insertEntry({ id, parentId: branchFromId, fromId: tipId, ...rest }),
            setValue(branchTip(BRANCH), id),
        ];
        await session.mutate((mutator) => mutator.commit(writes, context), context);
        return id;
    }
    throw new Error(`Unsupported entry type: ${draft.type}`);
}

/** A session in memory, its branch, and the tip of that. */
async function branchOf(params) {
    const { storage, tip } = storageOf(params);
    const session = new StorageBackedSession({ id: "in-memory" }, storage);
    return { session, branch: await session.branch(BRANCH, context), tip };
}

async function appended(params) {
    const { session, branch, tip } = await branchOf(params);
    if (tip !== null) await branch.findEntries({ start: tip }, context);
    const id = await append(session, branch, params.draft);
    return { entry: await session.getEntry(id, context), leafId: await branch.getTipId(context) };
}

// ---- preparation ---------------------------------------------------------------------------------------------------

const orNull = (value) => (value === undefined ? null : value);

/** The value of a `Result`; its error is thrown, so that its code becomes the kind of the refusal. */
function valueOf(result) {
    if (!result.ok) throw result.error;
    return result.value;
}

function packed(preparation) {
    if (preparation === undefined) return null;
    const { retainedTail, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore } = preparation;
    return {
        retainedTail, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore,
        previousSummary: orNull(preparation.previousSummary),
        fileOperations: files.computeFileLists(preparation.fileOps),
    };
}

/** File operations as a preparation finds them when the previous compaction carries these details. */
function fileOperationsAfter(details) {
    const previous = {
        type: "compaction", id: "c", parentId: null, seq: 1, timestamp: 0,
        summary: "text", retainedTail: [], tokensBefore: 0, fromHook: false, details,
    };
    const user = {
        type: "message", id: "u", parentId: "c", seq: 2, timestamp: 0, message: { role: "user", content: "text", timestamp: 0 },
    };
    const settings = { enabled: true, reserveTokens: 0, keepRecentTokens: 1 };
    return valueOf(compaction.prepareCompaction([previous, user], settings)).fileOps;
}

// ---- operations ----------------------------------------------------------------------------------------------------

const OPERATIONS = {
    "session/parse": (p) => withFile(p, parsed),
    "session/write": async (p) => ({ content: await written(p) }),
    "session/path": async (p) => ({ entries: await pathOf(p) }),
    "session/append": appended,

    "projection/entries": async (p) => ({ entries: buildContextEntries(await pathOf(p)) }),
    "projection/messages": async (p) => ({ messages: await buildSessionContext(await pathOf(p), undefined, context) }),
    "messages/to_llm": (p) => ({ messages: convertToLlm(p.messages) }),

    "tokens/from_usage": (p) => ({ tokens: compaction.calculateContextTokens(p.usage) }),
    "tokens/of_message": (p) => ({ tokens: compaction.estimateTokens(p.message) }),
    "tokens/of_context": (p) => compaction.estimateContextTokens(p.messages),
    "tokens/last_usage": (p) => ({ usage: orNull(compaction.getLastAssistantUsage(p.entries)) }),
    "trigger/should_compact": (p) => ({ compact: compaction.shouldCompact(p.contextTokens, p.contextWindow, p.settings) }),

    "cut/find": (p) => compaction.findCutPoint(p.entries, p.startIndex, p.endIndex, p.keepRecentTokens),
    "cut/turn_start": (p) => ({ turnStartIndex: compaction.findTurnStartIndex(p.entries, p.entryIndex, p.startIndex) }),
    "compaction/prepare": async (p) => ({
        preparation: packed(valueOf(compaction.prepareCompaction(await pathOf(p), p.settings))),
    }),
    "files/lists": (p) => {
        const operations = Object.hasOwn(p, "previousDetails") ? fileOperationsAfter(p.previousDetails) : files.createFileOps();
        for (const message of p.messages) files.extractFileOpsFromMessage(message, operations);
        return files.computeFileLists(operations);
    },
    "files/format": (p) => ({ text: files.formatFileOperations(p.readFiles, p.modifiedFiles) }),
    ...Object.fromEntries(
        ["summary/serialize", "summary/compact", "branch/collect", "branch/prepare", "branch/summarize"].map((name) => [
            name,
            async (p) => (await import("./summary.mjs")).answer(name, p, { load, pathOf, branchOf, context }),
        ]),
    ),
};

// ---- refusals ------------------------------------------------------------------------------------------------------

const KINDS = [
    [/^Invalid JSONL storage [^]*: (missing|invalid) header$/, "not_a_session"],
    [/^Invalid JSONL session header: | uses unsupported storage version /, "not_a_session"],
    [/^(Unsupported legacy v3 record type: |Unsupported entry type: |Cannot persist a pending assistant message$)/, "unsupported_entry"],
    [/ has a missing or forward parent at line |^Missing parent entry: |^Missing legacy v3 entry reference: /, "entry_not_found"],
    [/^Unknown branch start: |^Unknown target: /, "entry_not_found"],
    [/ firstKeptEntryId is not on its parent branch: /, "not_on_path"],
    [/^Duplicate legacy v3 entry id: |^Duplicate entry or usage id: |^Non-monotonic storage sequence: /, "malformed_input"],
    [/^Invalid legacy v3 JSONL record: |^Invalid JSONL |^Legacy v3 entry reference has no |^UUIDv7 timestamp must be /, "malformed_input"],
];

/** Errors of storage wrap their cause, which tells more. */
function kindOf(thrown) {
    if (!(thrown instanceof Error)) return undefined;
    if (thrown instanceof TypeError) return "malformed_input";
    return kindOf(thrown.cause) ?? KINDS.find(([pattern]) => pattern.test(thrown.message))?.[1];
}

await serve(description("pi-harness", manifest, "harness", OPERATIONS), OPERATIONS, kindOf);
