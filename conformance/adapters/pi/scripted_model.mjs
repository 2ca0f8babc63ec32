// A scripted model for both adapters to published Pi packages: it plays the replies of the params and notes what it was
// asked. Pi waits with `setTimeout` before a retry; while an operation runs, every wait ends at once.

/** A model call that broke. Pi lets it through as it is, which is how it is told from Pi's own errors. */
class Thrown extends Error {}

/**
 * Runs `use` against the scripted model and answers with the requests, the retries and what became of it. The script
 * holds `signal`, `reply(request)` and the `callbacks` of retries. `failureOf` makes an outcome of what `use` threw.
 */
export async function play(p, use, failureOf = () => undefined) {
    const requests = [];
    const retries = [];
    const controller = new AbortController();
    const script = {
        signal: controller.signal,
        reply: (request) => {
            requests.push(request);
            const reply = p.replies[requests.length - 1];
            if (reply === undefined) throw new Thrown("the script holds no reply for this request");
            if (Object.hasOwn(Object(reply), "throws")) throw new Thrown(reply.throws);
            return reply;
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
            const failed = failureOf(thrown);
            if (failed === undefined) throw thrown;
            return failed;
        }
    });
    return { requests, retries, outcome };
}

/** A request as the protocol shows it. Anything but a system prompt and one user text would be no summary request. */
export function shown(system, messages, tools, options) {
    const [user, ...more] = messages;
    const onlyText = user?.role === "user" && user.content.length === 1 && user.content[0].type === "text";
    if (typeof system !== "string" || !onlyText || more.length > 0) throw new Error("The request has another layout");
    return {
        system,
        prompt: user.content[0].text,
        tools: tools.map((tool) => tool.name),
        maxTokens: options.maxTokens,
        reasoning: options.reasoning,
        cacheRetention: options.cacheRetention,
        routingId: options.sessionId,
    };
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
