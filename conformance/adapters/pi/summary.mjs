// Summaries and branch summaries of the published Pi with a scripted model: `summary/…`, `branch/…` and `retry/…`.
//
// Pi asks its stream function for replies; here the script gives them.

import { play, shown } from "./scripted_model.mjs";

let operations;

/** The answer to one operation. `pi` brings the adapter's own `load`, `managerOf` and `pathOf`. */
export async function answer(name, params, pi) {
    operations ??= await summaryOperations(pi);
    return operations[name](params);
}

async function summaryOperations({ load, managerOf, pathOf }) {
    const compaction = await load("pi-coding-agent/dist/core/compaction/compaction.js");
    const branch = await load("pi-coding-agent/dist/core/compaction/branch-summarization.js");
    const { computeFileLists, serializeConversation } = await load("pi-coding-agent/dist/core/compaction/utils.js");
    const { convertToLlm } = await load("pi-coding-agent/dist/core/messages.js");
    const { SettingsManager } = await load("pi-coding-agent/dist/core/settings-manager.js");
    const { isRetryableAssistantError } = await load("pi-ai/dist/utils/retry.js");

    const settingsOf = (p) => {
        const stored = { global: JSON.stringify(p.global), project: JSON.stringify(p.project) };
        return SettingsManager.fromStorage({ withLock: (scope, use) => void use(stored[scope]) });
    };
    const orNull = (value) => (value === undefined ? null : value);

    return {
        "summary/serialize": (p) => ({ text: serializeConversation(convertToLlm(p.messages)) }),
        "summary/compact": (p) => {
            const preparation = compaction.prepareCompaction(pathOf(p), p.settings);
            return played(p, async (script) => {
                if (preparation === undefined) return { nothing: true };
                const result = await compaction.compact(
                    preparation, p.model, undefined, undefined, p.customInstructions, script.signal, p.thinkingLevel,
                    script.stream, undefined, p.retry, script.callbacks,
                );
                return { compaction: result };
            });
        },
        "branch/collect": (p) => {
            const manager = managerOf(p.entries);
            const leaf = p.leafId === undefined ? manager.getLeafId() : p.leafId;
            const { entries, commonAncestorId } = branch.collectEntriesForBranchSummary(manager, leaf, p.targetId);
            return { entries: entries.map((entry) => orNull(entry.id)), commonAncestorId: orNull(commonAncestorId) };
        },
        "branch/prepare": (p) => {
            const { messages, totalTokens, fileOps } = branch.prepareBranchEntries(p.entries, p.tokenBudget);
            return { messages, totalTokens, ...computeFileLists(fileOps) };
        },
        "branch/summarize": (p) =>
            played(p, async (script) => {
                const { customInstructions, replaceInstructions, reserveTokens, model, retry } = p;
                const { signal, stream, callbacks } = script;
                const options = { model, signal, customInstructions, replaceInstructions, reserveTokens, streamFn: stream, retry, callbacks };
                const result = await branch.generateBranchSummary(p.entries, options);
                if (result.aborted) return { aborted: true };
                return result.error === undefined ? { branchSummary: result } : failure(result.error);
            }),
        "branch/settings": (p) => settingsOf(p).getBranchSummarySettings(),
        "retry/is_retryable": (p) => ({ retryable: isRetryableAssistantError(p.message) }),
        "retry/settings": (p) => settingsOf(p).getRetrySettings(),
    };
}

function played(p, use) {
    return play(
        p,
        ({ reply, ...script }) => {
            const stream = async (_model, context, options) => {
                const answer = reply(requestOf(context, options));
                return { result: async () => answer };
            };
            return use({ ...script, stream });
        },
        (thrown) => failure(thrown instanceof Error ? thrown.message : ""),
    );
}

function requestOf(context, options) {
    const [system, ...messages] = context.messages;
    const prompt = system?.role === "system" ? system.content : undefined;
    return shown(prompt, messages, [...(context.tools ?? []), ...(system?.toolsAdded ?? [])], options);
}

/** Pi tells failures apart by their text alone. */
const FAILURES = [
    [/^(?:Summarization|Turn prefix summarization|Branch summarization) attempted to call a tool$/, "tool_call"],
    [/^(?:Summarization|Turn prefix summarization|Branch summarization) failed: generation hit the token cap/, "incomplete"],
    [/^(?:Summarization|Turn prefix summarization|Branch summarization) failed: /, "failed"],
];

function failure(message) {
    const kind = FAILURES.find(([pattern]) => pattern.test(message))?.[1];
    return kind === undefined ? undefined : { error: { kind, message } };
}
