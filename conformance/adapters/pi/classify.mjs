// `overflow/classify`: one small request through Pi's own client for an API style, and what Pi makes of the response.
//
// Nothing but the loopback interface is reached, no key of the user's is used, and no request is sent twice: a caller
// asks about one response, so the retries of the clients are off. Every request ends within a bounded time.

import { isIP } from "node:net";

/** API styles and the client of Pi that speaks each. Pi reaches Ollama through its OpenAI-compatible route. */
const CLIENTS = {
    "openai-completions": "openai-completions",
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic-messages",
    "google-generative-ai": "google-generative-ai",
    "mistral-conversations": "mistral-conversations",
    "bedrock-converse-stream": "bedrock-converse-stream",
    ollama: "openai-completions",
};

const DEFAULT_TIMEOUT_MS = 5_000;
const MAX_TIMEOUT_MS = 60_000;
/** What a client may take beyond its own time limit (undici counts in steps of about a second) before it is stopped. */
const GRACE_MS = 2_500;
const DEFAULT_WINDOW = 200_000;

const BEDROCK = { AWS_BEDROCK_FORCE_HTTP1: "1", AWS_BEDROCK_SKIP_AUTH: "1", AWS_REGION: "us-east-1" };

function isLoopback(url) {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function checkedUrl(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== "http:" || !isLoopback(url)) {
        throw new Error(`baseUrl ${JSON.stringify(text)} is no http address of the loopback interface`);
    }
    return url.href.replace(/\/+$/, "");
}

function checkedTimeout(value = DEFAULT_TIMEOUT_MS) {
    if (Number.isInteger(value) && value >= 1 && value <= MAX_TIMEOUT_MS) return value;
    throw new Error(`timeoutMs ${JSON.stringify(value)} is no whole number from 1 to ${MAX_TIMEOUT_MS}`);
}

function checkedClient(api) {
    if (Object.hasOwn(CLIENTS, api)) return CLIENTS[api];
    throw new Error(`There is no client for the API style ${JSON.stringify(api)}; known: ${Object.keys(CLIENTS).join(", ")}`);
}

/** No proxy may stand between the client and the loopback interface, and no AWS setting of the machine may count. */
function isolate() {
    for (const name of Object.keys(process.env)) {
        if (/^AWS_|^(https?|all|no)_proxy$/i.test(name)) delete process.env[name];
    }
    Object.assign(process.env, BEDROCK, { AWS_MAX_ATTEMPTS: "1", AWS_EC2_METADATA_DISABLED: "true" });
}

function modelOf({ baseUrl, provider, model, contextWindow }, api) {
    return {
        id: model, name: model, api, provider, baseUrl,
        reasoning: false, input: ["text"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: contextWindow ?? DEFAULT_WINDOW, maxTokens: 1024,
    };
}

const QUESTION = { messages: [{ role: "user", content: "Say hello.", timestamp: 0 }] };

/** `load` imports a file of the published packages. The answer is the stored message's, and Pi's verdict on it. */
export async function classify(params, load) {
    const api = checkedClient(params.api);
    const baseUrl = checkedUrl(params.baseUrl);
    const timeoutMs = checkedTimeout(params.timeoutMs);
    isolate();
    const { configureHttpDispatcher } = await load("pi-coding-agent/dist/core/http-dispatcher.js");
    const { isContextOverflow } = await load("pi-ai/dist/utils/overflow.js");
    const { isRetryableAssistantError } = await load("pi-ai/dist/utils/retry.js");
    const client = await load(`pi-ai/dist/api/${api}.js`);
    configureHttpDispatcher(timeoutMs);
    const options = {
        apiKey: "no-key", maxRetries: 0, timeoutMs, env: BEDROCK,
        signal: AbortSignal.timeout(timeoutMs + GRACE_MS),
    };
    const message = await client.streamSimple(modelOf({ ...params, baseUrl }, api), QUESTION, options).result();
    const overflow = isContextOverflow(message, params.contextWindow);
    return {
        stopReason: message.stopReason,
        errorMessage: message.errorMessage ?? null,
        overflow,
        retryable: !overflow && isRetryableAssistantError(message),
    };
}
