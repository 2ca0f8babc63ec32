// The plug-in protocol (spec/protocol.md) for both adapters to published Pi packages: JSON-RPC 2.0, a line a message.

import { writeToStdout } from "./surroundings.mjs";

const PROTOCOL_VERSION = 1;

/** Who answers, for `initialize`. `manifest` is the package.json of the package whose functions answer. */
export function description(name, manifest, profile, operations) {
    return {
        protocolVersion: PROTOCOL_VERSION,
        implementation: { name, version: manifest.version, language: "typescript", url: "https://github.com/earendil-works/pi" },
        editions: [`pi-${manifest.version.split(".").slice(0, 2).join(".")}`],
        profiles: [profile],
        operations: Object.keys(operations),
    };
}

/** Answers requests until standard input ends. `kindOf` tells the kind of a refusal from what was thrown. */
export async function serve(initialized, operations, kindOf) {
    process.stdout.on("error", () => process.exit(1)); // nobody reads the answers any more
    for await (const line of linesOf(process.stdin)) {
        if (line.trim() !== "") writeToStdout(`${lineOf(await answerTo(line, initialized, operations, kindOf))}\n`);
    }
    writeToStdout("", () => process.exit(0));
}

async function answerTo(line, initialized, operations, kindOf) {
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
    if (request.method === "initialize") return { id, result: initialized };
    if (!Object.hasOwn(operations, request.method)) {
        return { id, error: { code: -32601, message: `There is no operation ${request.method}` } };
    }
    try {
        return { id, result: await operations[request.method](request.params ?? {}) };
    } catch (thrown) {
        return { id, error: errorOf(thrown, kindOf(thrown)) };
    }
}

function errorOf(thrown, kind) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    if (kind !== undefined) return { code: -32000, message, data: { kind } };
    return { code: -32603, message: thrown instanceof Error ? `${thrown.name}: ${message}` : message };
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
