// Summaries and branch summaries of the published Pi with a scripted model: `summary/…`, `branch/…` and `retry/…`.
//
// Pi asks its stream function for replies; here that function plays the script and notes what it was asked. Pi waits with
// `setTimeout` before a retry; while an operation runs, every wait ends at once.

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

/** A model call that broke. Pi lets it through as it is, which is how it is told from Pi's own errors. */
class Thrown extends Error {}

/** Runs `use` against the scripted model and answers with the requests, the retries and what became of it. */
async function played(p, use) {
    const requests = [];
    const retries = [];
    const controller = new AbortController();
    const script = {
        signal: controller.signal,
        stream: async (model, context, options) => {
            requests.push(shown(context, options));
            const reply = p.replies[requests.length - 1];
            if (reply === undefined) throw new Thrown("the script holds no reply for this request");
            if (Object.hasOwn(Object(reply), "throws")) throw new Thrown(reply.throws);
            return { result: async () => reply };
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
            const failed = failure(thrown instanceof Error ? thrown.message : "");
            if (failed === undefined) throw thrown;
            return failed;
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

/** A request as the protocol shows it. Anything but a system prompt and one user text would be no summary request of Pi's. */
function shown(context, options) {
    const [system, user, ...more] = context.messages;
    const onlyText = user?.role === "user" && user.content.length === 1 && user.content[0].type === "text";
    if (system?.role !== "system" || !onlyText || more.length > 0) throw new Error("The request has another layout");
    return {
        system: system.content,
        prompt: user.content[0].text,
        tools: [...(context.tools ?? []), ...(system.toolsAdded ?? [])].map((tool) => tool.name),
        maxTokens: options.maxTokens,
        reasoning: options.reasoning,
        cacheRetention: options.cacheRetention,
        routingId: options.sessionId,
    };
}
