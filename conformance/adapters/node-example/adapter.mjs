// A small implementation with its adapter, in plain Node: the worked example for spec/protocol.md.
//
// Three parts: the implementation (yours replaces it), the table of operations (params in, result out), and the loop
// that speaks JSON-RPC. A port to another language keeps the last two as they are.

// ---- 1. the implementation: what is under test ---------------------------------------------------------------------

class Refusal extends Error {
    constructor(kind, message) {
        super(message);
        this.kind = kind;
    }
}

const IMAGE_UNITS = 4800;
const tokensOfUnits = (units) => Math.ceil(units / 4);
const PARTS = ["input", "output", "cacheRead", "cacheWrite"];
const tokensOfUsage = (usage) => usage.totalTokens || PARTS.reduce((sum, part) => sum + usage[part], 0);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function unitsOfContent(content) {
    if (typeof content === "string") return content.length; // a JavaScript string counts UTF-16 units
    return sum(content.map((block) => (block.type === "image" ? IMAGE_UNITS : block.type === "text" ? (block.text?.length ?? 0) : 0)));
}

const unitsOfBlock = {
    __proto__: null, // no inherited names: a block's type comes from a file
    text: (block) => block.text.length,
    thinking: (block) => block.thinking.length,
    toolCall: (block) => block.name.length + JSON.stringify(block.arguments).length,
};

const unitsOfMessage = {
    __proto__: null,
    system: (m) =>
        unitsOfContent(m.content) +
        sum(Object.values(m.sections ?? {}).map((section) => section?.length ?? 0)) +
        (m.toolsAdded ? JSON.stringify(m.toolsAdded).length : 0),
    user: (m) => unitsOfContent(m.content),
    custom: (m) => unitsOfContent(m.content),
    toolResult: (m) => unitsOfContent(m.content),
    assistant: (m) => sum([...m.content].map((block) => unitsOfBlock[block.type]?.(block) ?? 0)),
    bashExecution: (m) => m.command.length + m.output.length,
    branchSummary: (m) => m.summary.length,
    compactionSummary: (m) => m.summary.length,
};

const tokensOfMessage = (message) => tokensOfUnits(unitsOfMessage[message.role]?.(message) ?? 0);

function hasTrustedUsage(message) {
    const failed = message.stopReason === "aborted" || message.stopReason === "error";
    return message.role === "assistant" && !failed && Boolean(message.usage) && tokensOfUsage(message.usage) > 0;
}

function tokensOfContext(messages) {
    const last = messages.findLastIndex(hasTrustedUsage);
    const usageTokens = last === -1 ? 0 : tokensOfUsage(messages[last].usage);
    const trailingTokens = sum(messages.slice(last + 1).map(tokensOfMessage));
    return { tokens: usageTokens + trailingTokens, usageTokens, trailingTokens, lastUsageIndex: last === -1 ? null : last };
}

/** From the leaf up to its root. An entry is visited once, so that a circle of parents ends. */
function pathTo(leaf, byId) {
    const path = new Set();
    for (let entry = leaf; entry && !path.has(entry); entry = entry.parentId ? byId.get(entry.parentId) : undefined) path.add(entry);
    return [...path].reverse();
}

const indexOf = (entries) => new Map(entries.map((entry) => [entry.id, entry]));

function sessionPath(entries, leafId) {
    const byId = indexOf(entries);
    const leaf = leafId === undefined ? entries.at(-1) : byId.get(leafId);
    return pathTo(leaf, byId);
}

function foldedPath(entries, leafId) {
    if (leafId === null) return [];
    const byId = indexOf(entries);
    const path = pathTo(byId.get(leafId) ?? entries.at(-1), byId); // an unknown leaf stands for the last entry here
    const at = path.findLastIndex((entry) => entry.type === "compaction");
    if (at === -1) return path;
    const from = path.slice(0, at).findIndex((entry) => entry.id === path[at].firstKeptEntryId);
    const kept = from === -1 ? [] : path.slice(from, at);
    const isSystem = (entry) => entry.type === "message" && entry.message.role === "system";
    return [path[at], ...kept.filter((entry) => !isSystem(entry)), ...path.slice(at + 1)];
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function merge(base, over) {
    const merged = { ...base };
    for (const [key, value] of Object.entries(over)) merged[key] = isObject(base[key]) && isObject(value) ? merge(base[key], value) : value;
    return merged;
}

function resolveSettings(global, project, model) {
    const compaction = merge(global, project).compaction ?? {};
    const entry = model ? compaction.modelOverrides?.[`${model.provider}/${model.id}`] : undefined;
    const override = entry === undefined ? {} : entry;
    if (!isObject(override)) throw new Refusal("invalid_setting", "the override is no object");
    const numberOf = (field, fallback) => {
        for (const value of [compaction[field], override[field]]) {
            const usable = value === undefined || (Number.isSafeInteger(value) && value >= 0);
            if (!usable) throw new Refusal("invalid_setting", `${field} is ${value}`);
        }
        return override[field] ?? compaction[field] ?? fallback;
    };
    return {
        enabled: compaction.enabled ?? true,
        reserveTokens: numberOf("reserveTokens", 16384),
        keepRecentTokens: numberOf("keepRecentTokens", 20000),
    };
}

function formatFiles(readFiles, modifiedFiles) {
    const section = (tag, paths) => (paths.length > 0 ? `\n\n<${tag}>\n${paths.join("\n")}\n</${tag}>` : "");
    return section("read-files", readFiles) + section("modified-files", modifiedFiles);
}

// ---- 2. the operations: one line each, params in, result out -------------------------------------------------------

const OPERATIONS = {
    "session/path": ({ entries, leafId }) => ({ entries: sessionPath(entries, leafId) }),
    "projection/entries": ({ entries, leafId }) => ({ entries: foldedPath(entries, leafId) }),
    "tokens/from_usage": ({ usage }) => ({ tokens: tokensOfUsage(usage) }), // NaN becomes null in JSON, as the protocol wants
    "tokens/of_message": ({ message }) => ({ tokens: tokensOfMessage(message) }),
    "tokens/of_context": ({ messages }) => tokensOfContext(messages),
    "settings/resolve": ({ global, project, model }) => resolveSettings(global, project, model),
    "trigger/should_compact": ({ contextTokens, contextWindow, settings }) => ({
        compact: Boolean(settings.enabled) && contextTokens > contextWindow - settings.reserveTokens,
    }),
    "overflow/is_recoverable_length": ({ message, desiredMaxOutput }) => ({
        recoverable: message.stopReason === "length" && desiredMaxOutput > 0 && message.usage.output < desiredMaxOutput,
    }),
    "files/format": ({ readFiles, modifiedFiles }) => ({ text: formatFiles(readFiles, modifiedFiles) }),
};

function initialize() {
    return {
        protocolVersion: 1,
        implementation: { name: "node-example", version: "1.0.0", language: "javascript" },
        editions: ["pi-0.87"],
        profiles: ["coding-agent"],
        operations: Object.keys(OPERATIONS), // what is missing here is reported as unsupported
    };
}

// ---- 3. the loop: a line in, a line out, in order ------------------------------------------------------------------

function answerTo(line) {
    let request;
    try {
        request = JSON.parse(line);
    } catch {
        return { id: null, error: { code: -32700, message: "the line is not JSON" } };
    }
    const { method, params } = request ?? {};
    const id = typeof request?.id === "number" ? request.id : null;
    if (id === null || typeof method !== "string") return { id, error: { code: -32600, message: "no JSON-RPC request" } };
    try {
        if (method === "initialize") return { id, result: initialize() };
        if (!Object.hasOwn(OPERATIONS, method)) return { id, error: { code: -32601, message: `no operation ${method}` } };
        return { id, result: OPERATIONS[method](params) };
    } catch (error) {
        const kind = error instanceof Refusal ? error.kind : error instanceof TypeError ? "malformed_input" : undefined;
        if (kind) return { id, error: { code: -32000, message: error.message, data: { kind } } };
        return { id, error: { code: -32603, message: String(error) } };
    }
}

function lineOf(answer) {
    try {
        return `${JSON.stringify({ jsonrpc: "2.0", ...answer })}\n`;
    } catch (error) {
        return lineOf({ id: answer.id, error: { code: -32603, message: String(error) } }); // nested too deeply to be written
    }
}

process.stdout.on("error", () => process.exit(1)); // nobody reads the answers any more

let pieces = []; // of a line that is not complete; lines end at "\n" alone (node:readline would also break at U+2028)
for await (const chunk of process.stdin) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const line = Buffer.concat([...pieces, chunk.subarray(start, end)]).toString();
        if (line.trim() !== "") process.stdout.write(lineOf(answerTo(line)));
        pieces = [];
        start = end + 1;
    }
    pieces.push(chunk.subarray(start));
}
