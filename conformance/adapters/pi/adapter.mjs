// The oracle adapter: serves the plug-in protocol (spec/protocol.md) with the functions of the published Pi packages.
//
// It only translates. An operation unpacks its params, calls functions of Pi, and packs what they return; whatever
// decides an answer is Pi's. The packages are taken from the node_modules folder that PI_ORACLE_NODE_MODULES names, or
// from the one beside this file.

import { Console } from "node:console";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const PROTOCOL_VERSION = 1;

// ---- surroundings: nothing of the user's is read, nothing but answers reaches standard output ----------------------

const nodeModules = process.env.PI_ORACLE_NODE_MODULES ?? join(dirname(fileURLToPath(import.meta.url)), "node_modules");
for (const name of Object.keys(process.env)) if (name.startsWith("PI_")) delete process.env[name];
process.env.HOME = process.env.USERPROFILE = join(tmpdir(), `no-home-${randomUUID()}`); // names a folder that is not there

const writeToStdout = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
globalThis.console = new Console(process.stderr, process.stderr);

// ---- the packages --------------------------------------------------------------------------------------------------

const modules = resolve(nodeModules, "@earendil-works");
const load = (file) => import(pathToFileURL(join(modules, file)).href);
if (!existsSync(join(modules, "pi-coding-agent/package.json"))) {
    console.error(`${modules} does not hold pi-coding-agent; run \`npm ci\` beside adapter.mjs, or set PI_ORACLE_NODE_MODULES`);
    process.exit(2);
}
const manifest = JSON.parse(readFileSync(join(modules, "pi-coding-agent/package.json"), "utf8"));

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

function initialize() {
    return {
        protocolVersion: PROTOCOL_VERSION,
        implementation: {
            name: "pi",
            version: manifest.version,
            language: "typescript",
            url: "https://github.com/earendil-works/pi",
        },
        editions: [`pi-${manifest.version.split(".").slice(0, 2).join(".")}`],
        profiles: ["coding-agent"],
        operations: Object.keys(OPERATIONS),
    };
}

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

function errorOf(thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    const kind = thrown instanceof TypeError ? "malformed_input" : KINDS.find(([pattern]) => pattern.test(message))?.[1];
    if (kind !== undefined) return { code: -32000, message, data: { kind } };
    return { code: -32603, message: thrown instanceof Error ? `${thrown.name}: ${message}` : message };
}

// ---- JSON-RPC ------------------------------------------------------------------------------------------------------

async function answerTo(line) {
    let request;
    try {
        request = JSON.parse(line);
    } catch {
        return { id: null, error: { code: -32700, message: "The line is not JSON" } };
    }
    const id = typeof request?.id === "number" || typeof request?.id === "string" ? request.id : null;
    if (request?.jsonrpc !== "2.0" || typeof request.method !== "string" || id === null) {
        return { id, error: { code: -32600, message: "The line is no JSON-RPC 2.0 request" } };
    }
    if (request.method === "initialize") return { id, result: initialize() };
    if (!Object.hasOwn(OPERATIONS, request.method)) {
        return { id, error: { code: -32601, message: `There is no operation ${request.method}` } };
    }
    try {
        return { id, result: await OPERATIONS[request.method](request.params ?? {}) };
    } catch (thrown) {
        return { id, error: errorOf(thrown) };
    }
}

function lineOf(answer) {
    try {
        return JSON.stringify({ jsonrpc: "2.0", ...answer });
    } catch (thrown) {
        return JSON.stringify({ jsonrpc: "2.0", id: answer.id, error: { code: -32603, message: String(thrown) } });
    }
}

/** Lines end at the byte 0x0A alone; a line may arrive in many pieces. */
async function* linesOf(stream) {
    let pieces = [];
    for await (const chunk of stream) {
        let start = 0;
        for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
            pieces.push(chunk.subarray(start, end));
            yield Buffer.concat(pieces).toString("utf8");
            pieces = [];
            start = end + 1;
        }
        if (start < chunk.length) pieces.push(chunk.subarray(start));
    }
    if (pieces.length > 0) yield Buffer.concat(pieces).toString("utf8");
}

process.stdout.on("error", () => process.exit(1)); // nobody reads the answers any more

for await (const line of linesOf(process.stdin)) {
    if (line.trim() !== "") writeToStdout(`${lineOf(await answerTo(line))}\n`);
}
writeToStdout("", () => process.exit(0));
