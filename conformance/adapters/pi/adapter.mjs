// The oracle adapter: serves the plug-in protocol (spec/protocol.md) with the functions of the published Pi packages.
//
// It only translates. An operation unpacks its params, calls functions of Pi, and packs what they return; whatever
// decides an answer is Pi's.

import { load, manifestOf } from "./surroundings.mjs";
import { description, serve } from "./serving.mjs";

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// ---- the packages --------------------------------------------------------------------------------------------------

const manifest = manifestOf("pi-coding-agent");

const { SessionManager, buildContextEntries, buildSessionProjection } = await load("pi-coding-agent/dist/core/session-manager.js");
const { SettingsManager } = await load("pi-coding-agent/dist/core/settings-manager.js");
const { convertToLlm } = await load("pi-coding-agent/dist/core/messages.js");
const tokens = await load("pi-coding-agent/dist/core/compaction/compaction.js");
const files = await load("pi-coding-agent/dist/core/compaction/utils.js");
const { getCurrentSystemMessage, getCurrentSystemPrompt } = await load("pi-ai/dist/utils/transcript.js");
const { isContextOverflow, isRecoverableLength } = await load("pi-ai/dist/utils/overflow.js");

// ---- sessions ------------------------------------------------------------------------------------------------------

const HEADER = { type: "session", version: 3, id: "in-memory", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/" };

/** A manager that holds the entries in memory; the last entry is its leaf. */
function managerOf(entries) {
    return SessionManager.inMemory("/", undefined, [{ ...HEADER }, ...entries]);
}

/** A manager whose leaf is where `leafId` says. An id that no entry has is refused by Pi. */
function managerAt({ entries, leafId }) {
    const manager = managerOf(entries);
    if (leafId === null) manager.resetLeaf();
    else if (leafId !== undefined) manager.branch(leafId);
    return manager;
}

/** The path of the leaf. `getBranch` takes null for "the present leaf", so the empty path needs a leaf that was reset. */
function pathOf({ entries, leafId }) {
    const manager = managerOf(entries);
    if (leafId === null) manager.resetLeaf();
    return manager.getBranch(leafId);
}

const APPEND = {
    message: (m, d) => m.appendMessage(d.message),
    thinking_level_change: (m, d) => m.appendThinkingLevelChange(d.thinkingLevel),
    model_change: (m, d) => m.appendModelChange(d.provider, d.modelId),
    usage: (m, d) => m.appendUsage(d.kind, d.provider, d.model, d.usage, d.note),
    compaction: (m, d) => m.appendCompaction(d.summary, d.firstKeptEntryId, d.tokensBefore, d.details, d.fromHook, d.usage),
    branch_summary: (m, d) => m.branchWithSummary(d.branchFromId, d.summary, d.details, d.fromHook, d.usage),
    custom: (m, d) => m.appendCustomEntry(d.customType, d.data),
    custom_message: (m, d) => m.appendCustomMessageEntry(d.customType, d.content, d.display, d.details),
    label: (m, d) => m.appendLabelChange(d.targetId, d.label),
    session_info: (m, d) => m.appendSessionInfo(d.name),
    context_edit: (m, d) => m.appendContextEdit(d.targetId, d.replacement),
};

function append(manager, draft) {
    if (!Object.hasOwn(APPEND, draft.type)) throw new TypeError(`There is no draft type ${JSON.stringify(draft.type)}`);
    APPEND[draft.type](manager, draft);
}

/** Opens a session file that holds the given content (or is absent), lets `use` work on it, and takes it away again. */
function withFile({ content, contentBase64 }, use) {
    const folder = mkdtempSync(join(tmpdir(), "pi-session-"));
    try {
        const path = join(folder, "session.jsonl");
        const bytes = contentBase64 === undefined ? content : Buffer.from(contentBase64, "base64");
        if (bytes !== null) writeFileSync(path, bytes);
        return use(SessionManager.open(path), path);
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

/** `getTree` as lists of ids. A stack instead of recursion, as a session can be deeper than the call stack. */
function flattenTree(roots) {
    const children = Object.create(null);
    const labels = Object.create(null);
    const seen = new Set();
    const stack = [...roots];
    while (stack.length > 0) {
        const node = stack.pop();
        if (seen.has(node)) continue;
        seen.add(node);
        if (node.label !== undefined) labels[node.entry.id] = node.label;
        if (node.children.length > 0) children[node.entry.id] = node.children.map((child) => child.entry.id);
        for (const child of node.children) stack.push(child);
    }
    return { roots: roots.map((node) => node.entry.id), children, labels };
}

/** File operations as a preparation finds them when the previous compaction carries these details. */
function fileOperationsAfter(details) {
    const user = (id, parentId) => ({
        type: "message", id, parentId, timestamp: HEADER.timestamp, message: { role: "user", content: "text", timestamp: 0 },
    });
    const previous = {
        type: "compaction", id: "c", parentId: null, timestamp: HEADER.timestamp,
        summary: "text", firstKeptEntryId: "c", tokensBefore: 0, details,
    };
    const settings = { enabled: true, reserveTokens: 0, keepRecentTokens: 1 };
    return tokens.prepareCompaction([previous, user("u", "c"), user("v", "u")], settings).fileOps;
}

// ---- operations ----------------------------------------------------------------------------------------------------

const orNull = (value) => (value === undefined ? null : value);

const SUMMARIES = [
    "summary/serialize", "summary/compact", "branch/collect", "branch/prepare", "branch/summarize", "branch/settings",
    "retry/is_retryable", "retry/settings",
];

const OPERATIONS = {
    "session/parse": (p) =>
        withFile(p, (manager) => ({ header: manager.getHeader(), entries: manager.getEntries(), leafId: manager.getLeafId() })),
    "session/write": (p) =>
        withFile(p, (manager, path) => {
            for (const draft of p.drafts) append(manager, draft);
            return { content: existsSync(path) ? readFileSync(path).toString("utf8") : null };
        }),
    "session/path": (p) => ({ entries: pathOf(p) }),
    "session/tree": (p) => {
        const manager = managerOf(p.entries);
        return { ...flattenTree(manager.getTree()), name: orNull(manager.getSessionName()) };
    },
    "session/append": (p) => {
        const manager = managerAt(p);
        append(manager, p.draft);
        return { entry: manager.getEntries().at(-1), leafId: manager.getLeafId() };
    },
    "session/fork": (p) => {
        const manager = managerOf(p.entries);
        if (p.leafId === null) manager.resetLeaf();
        manager.createBranchedSession(p.leafId);
        return { entries: manager.getEntries() };
    },

    "projection/entries": (p) => ({ entries: buildContextEntries(p.entries, p.leafId) }),
    "projection/messages": (p) => ({ messages: buildSessionProjection(p.entries, p.leafId).messages }),
    "projection/sources": (p) => ({
        sources: buildSessionProjection(p.entries, p.leafId).entries.map(({ sourceEntry, messages }) => ({
            id: sourceEntry.id,
            messages: messages.length,
        })),
    }),
    "projection/settings": (p) => {
        const { thinkingLevel, model } = buildSessionProjection(p.entries, p.leafId);
        return { thinkingLevel, model };
    },
    "system/current": (p) => ({
        message: orNull(getCurrentSystemMessage(p.messages)),
        prompt: getCurrentSystemPrompt(p.messages),
    }),
    "messages/to_llm": (p) => ({ messages: convertToLlm(p.messages) }),

    "tokens/from_usage": (p) => ({ tokens: tokens.calculateContextTokens(p.usage) }),
    "tokens/of_message": (p) => ({ tokens: tokens.estimateTokens(p.message) }),
    "tokens/of_context": (p) => tokens.estimateContextTokens(p.messages),
    "tokens/of_projection": (p) => tokens.estimateProjectedContextTokens(buildSessionProjection(p.entries, p.leafId), pathOf(p)),
    "tokens/last_usage": (p) => ({ usage: orNull(tokens.getLastAssistantUsage(p.entries)) }),
    "tokens/context_usage": async (p) => {
        const { AgentSession } = await load("pi-coding-agent/dist/core/agent-session.js");
        const model = p.contextWindow === null ? undefined : { contextWindow: p.contextWindow };
        const session = { model, sessionManager: managerAt(p) };
        return { usage: orNull(AgentSession.prototype.getContextUsage.call(session)) };
    },
    "settings/resolve": (p) => {
        const stored = { global: JSON.stringify(p.global), project: JSON.stringify(p.project) };
        const manager = SettingsManager.fromStorage({ withLock: (scope, use) => void use(stored[scope]) });
        return manager.getCompactionSettings(p.model ?? undefined);
    },
    "trigger/should_compact": (p) => ({ compact: tokens.shouldCompact(p.contextTokens, p.contextWindow, p.settings) }),

    "overflow/is_overflow": (p) => ({ overflow: isContextOverflow(p.message, p.contextWindow) }),
    "overflow/is_recoverable_length": (p) => ({ recoverable: isRecoverableLength(p.message, p.desiredMaxOutput) }),
    "overflow/classify": async (p) => (await import("./classify.mjs")).classify(p, load),

    "cut/find": (p) => tokens.findCutPoint(p.entries, p.startIndex, p.endIndex, p.keepRecentTokens),
    "cut/turn_start": (p) => ({ turnStartIndex: tokens.findTurnStartIndex(p.entries, p.entryIndex, p.startIndex) }),
    "compaction/prepare": (p) => {
        const preparation = tokens.prepareCompaction(pathOf(p), p.settings);
        if (preparation === undefined) return { preparation: null };
        const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore } = preparation;
        return {
            preparation: {
                firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore,
                previousSummary: orNull(preparation.previousSummary),
                fileOperations: files.computeFileLists(preparation.fileOps),
            },
        };
    },
    "files/lists": (p) => {
        const operations = Object.hasOwn(p, "previousDetails") ? fileOperationsAfter(p.previousDetails) : files.createFileOps();
        for (const message of p.messages) files.extractFileOpsFromMessage(message, operations);
        return files.computeFileLists(operations);
    },
    "files/format": (p) => ({ text: files.formatFileOperations(p.readFiles, p.modifiedFiles) }),
    ...Object.fromEntries(
        SUMMARIES.map((name) => [name, async (p) => (await import("./summary.mjs")).answer(name, p, { load, managerOf, pathOf })]),
    ),
    "control/run": async (p) => (await import("./control.mjs")).run(load, p.scenario),
};

// ---- refusals ------------------------------------------------------------------------------------------------------

const KINDS = [
    [/^Entry [^]* not found$/, "entry_not_found"],
    [/^Entry [^]* is not on the active branch$/, "not_on_path"],
    [/^Entry [^]* does not contribute editable model content$/, "not_editable"],
    [/^Context edit replacement must be /, "invalid_replacement"],
    [/^Session id must be /, "invalid_session_id"],
    [/^Session file is not a valid \S+ session: /, "not_a_session"],
    [/^Invalid compaction\./, "invalid_setting"],
];

function kindOf(thrown) {
    if (thrown instanceof TypeError) return "malformed_input";
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return KINDS.find(([pattern]) => pattern.test(message))?.[1];
}

await serve(description("pi", manifest, "coding-agent", OPERATIONS), OPERATIONS, kindOf);
