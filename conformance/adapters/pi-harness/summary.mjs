// Summaries and branch summaries of the published harness with a scripted model: `summary/…` and `branch/…`.
//
// The harness asks a collection of models for replies; here one stands in that has them from the script.

import { play, shown } from "../pi/scripted_model.mjs";

let operations;

/** The answer to one operation. `harness` brings the adapter's own functions and context. */
export async function answer(name, params, harness) {
    operations ??= await summaryOperations(harness);
    return operations[name](params);
}

async function summaryOperations({ load, pathOf, branchOf, context }) {
    const { withAbortSignal } = await load("context.js");
    const compaction = await load("compaction/compaction.js");
    const branches = await load("compaction/branch-summarization.js");
    const { computeFileLists, serializeConversation } = await load("compaction/utils.js");
    const { convertToLlm } = await load("messages.js");

    const played = (p, use) =>
        play(p, ({ signal, reply, callbacks }) => {
            const completeSimple = async (_model, asked, options) =>
                reply(shown(asked.systemPrompt, asked.messages, asked.tools ?? [], options));
            return use({ models: { completeSimple }, callbacks, context: withAbortSignal(signal, context) });
        });

    return {
        "summary/serialize": (p) => ({ text: serializeConversation(convertToLlm(p.messages)) }),
        "summary/compact": async (p) => {
            const prepared = compaction.prepareCompaction(await pathOf(p), p.settings);
            if (!prepared.ok) throw prepared.error;
            return played(p, async (script) => {
                if (prepared.value === undefined) return { nothing: true };
                const result = await compaction.compact(
                    prepared.value, script.models, p.model, p.customInstructions, p.thinkingLevel, p.retry,
                    script.callbacks, script.context,
                );
                return result.ok ? { compaction: result.value } : failure(result.error);
            });
        },
        "branch/collect": async (p) => {
            const { branch, session, tip } = await branchOf(p);
            const collected = await branches.collectEntriesForBranchSummary(branch, session, tip, p.targetId, context);
            return { entries: collected.entries.map((entry) => entry.id), commonAncestorId: collected.commonAncestorId };
        },
        "branch/prepare": (p) => {
            const { messages, totalTokens, fileOps } = branches.prepareBranchEntries(p.entries, p.tokenBudget);
            return { messages, totalTokens, ...computeFileLists(fileOps) };
        },
        "branch/summarize": (p) =>
            played(p, async (script) => {
                const { model, customInstructions, replaceInstructions, reserveTokens, retry } = p;
                const { models, callbacks } = script;
                const options = { models, model, customInstructions, replaceInstructions, reserveTokens, retry, callbacks };
                const result = await branches.generateBranchSummary(p.entries, options, script.context);
                return result.ok ? { branchSummary: result.value } : failure(result.error);
            }),
    };
}

/** The harness tells failures apart by a code: `aborted` or `summarization_failed`. */
function failure(error) {
    return error.code === "aborted" ? { aborted: true } : { error: { kind: "failed", message: error.message } };
}
