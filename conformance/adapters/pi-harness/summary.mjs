// Summaries and branch summaries of the published harness with a scripted model: `summary/…` and `branch/…`.
//
// The harness asks a collection of models for replies; here one stands in that plays the script and notes what it was
// asked. The harness waits with `setTimeout` before a retry; while an operation runs, every wait ends at once.

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

    const played = (p, use) => play(p, withAbortSignal, context, use);

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

/** A model call that broke. The harness lets it through as it is. */
class Thrown extends Error {}

/** Runs `use` against the scripted model and answers with the requests, the retries and what became of it. */
async function play(p, withAbortSignal, context, use) {
    const requests = [];
    const retries = [];
    const controller = new AbortController();
    const script = {
        context: withAbortSignal(controller.signal, context),
        models: {
            completeSimple: async (_model, asked, options) => {
                requests.push(shown(asked, options));
                const reply = p.replies[requests.length - 1];
                if (reply === undefined) throw new Thrown("the script holds no reply for this request");
                if (Object.hasOwn(Object(reply), "throws")) throw new Thrown(reply.throws);
                return reply;
            },
        },
        callbacks: {
            onRetryScheduled: (attempt, _maxAttempts, delayMs) => {
                retries.push({ request: requests.length - 1, attempt, delayMs });
                if (retries.length === p.abortDuringWait) controller.abort();
            },
        },
    };
    const outcome = await withoutWaiting(async () => {
        try {
            return await use(script);
        } catch (thrown) {
            if (thrown instanceof Thrown) return { error: { kind: "thrown", message: thrown.message } };
            throw thrown;
        }
    });
    return { requests, retries, outcome };
}

/** Timers fire at once while `use` runs. Requests are served one at a time, so nobody else waits meanwhile. */
async function withoutWaiting(use) {
    const { setTimeout, clearTimeout } = globalThis;
    globalThis.setTimeout = (callback, _ms, ...rest) => setImmediate(callback, ...rest);
    globalThis.clearTimeout = (timer) => clearImmediate(timer);
    try {
        return await use();
    } finally {
        Object.assign(globalThis, { setTimeout, clearTimeout });
    }
}

/** The harness tells failures apart by a code: `aborted` or `summarization_failed`. */
function failure(error) {
    return error.code === "aborted" ? { aborted: true } : { error: { kind: "failed", message: error.message } };
}

/** A request as the protocol shows it. Anything but a system prompt and one user text would be no summary request. */
function shown(asked, options) {
    const [user, ...more] = asked.messages;
    const onlyText = user?.role === "user" && user.content.length === 1 && user.content[0].type === "text";
    if (typeof asked.systemPrompt !== "string" || !onlyText || more.length > 0) throw new Error("The request has another layout");
    return {
        system: asked.systemPrompt,
        prompt: user.content[0].text,
        tools: (asked.tools ?? []).map((tool) => tool.name),
        maxTokens: options.maxTokens,
        reasoning: options.reasoning,
        cacheRetention: options.cacheRetention,
        routingId: options.sessionId,
    };
}
