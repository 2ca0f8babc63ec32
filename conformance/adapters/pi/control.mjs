// The operation control/run: drives a real AgentSession through a scenario (spec/scenarios.md) and returns its trace.
//
// The session, its compactions and its recovery are Pi's own. What a scenario scripts stands around it: the provider
// (a stream function that hands out the scripted replies), one extension per hook, tools, the clock and the timers.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const HEADER = { type: "session", version: 3, id: "in-memory", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/" };
const EXTENSION_EVENTS = ["session_before_compact", "session_compact", "session_compact_failed", "session_before_tree", "session_tree"];
const HOOKED_EVENTS = ["turn_end", "agent_before_settle"];
const PUBLIC_MOMENTS = ["compaction_start", "compaction_end", "auto_retry_start"];
const WALL_LIMIT_MS = 20_000;
const TRACE_LIMIT = 5_000;
const REAL = { Date: globalThis.Date, setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

let load; // imports a module of the packages
let pi; // the modules, once loaded

async function packages() {
    if (pi !== undefined) return pi;
    const [agent, ai, utils, messages, transcript] = await Promise.all([
        load("pi-coding-agent/dist/index.js"),
        load("pi-ai/dist/index.js"),
        load("pi-coding-agent/dist/core/compaction/utils.js"),
        load("pi-coding-agent/dist/core/messages.js"),
        load("pi-ai/dist/utils/transcript.js"),
    ]);
    pi = {
        ...agent,
        fauxProvider: ai.fauxProvider,
        newStream: ai.createAssistantMessageEventStream,
        Type: ai.Type,
        summaryPrompt: utils.SUMMARIZATION_SYSTEM_PROMPT,
        convertToLlm: messages.convertToLlm,
        currentSystemMessage: transcript.getCurrentSystemMessage,
    };
    return pi;
}

// ---- reductions: what of a message, an entry, an error is judged ------------------------------------------------------

const cut = (text) => (text.length <= 40 ? text : `${text.slice(0, 24)}…(${text.length})`);

function blockText(block) {
    if (block.type === "text") return cut(block.text);
    if (block.type === "toolCall") return `call:${block.name}`;
    return block.type;
}

/** One line for a message: its role, then its blocks. A wrapped summary is shown without its wrapping. */
function lineOf(message) {
    if (message.role === "system") return "system";
    if (message.role === "toolResult" && message.isError) return "toolResult error";
    if (message.role === "compactionSummary" || message.role === "branchSummary") return `user summary:${cut(ownWords(message.summary))}`;
    const role = message.role === "custom" ? "user" : message.role;
    const blocks = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const only = role === "user" && blocks.length === 1 && blocks[0].type === "text" ? blocks[0].text : "";
    const wrapped = /<summary>\n([^]*?)\n?<\/summary>$/.exec(only);
    if (wrapped) return `user summary:${cut(ownWords(wrapped[1]))}`;
    return [role, ...blocks.map(blockText).filter((text) => text !== "")].join(" ");
}

const branchSummaries = new Map(); // those stored in this run, and each without its preamble

/** A branch summary that Pi made begins with a preamble of free wording, which ends in the first blank line. */
function noteBranchSummary({ summary, fromHook }) {
    const end = fromHook ? -1 : summary.indexOf("\n\n");
    if (end !== -1) branchSummaries.set(summary, summary.slice(end + 2));
}

const ownWords = (summary) => branchSummaries.get(summary) ?? summary;

const totalOf = (usage) => (usage === undefined ? {} : { usageTokens: usage.totalTokens });
const given = (name, value) => (value === undefined ? {} : { [name]: value });

function entryOf(entry) {
    const { type, id, parentId } = entry;
    const own = { type, id, parentId };
    switch (type) {
        case "message":
            return { ...own, line: lineOf(entry.message), ...given("stopReason", entry.message.stopReason) };
        case "custom_message":
            return { ...own, customType: entry.customType, line: lineOf({ role: "user", content: entry.content }) };
        case "compaction": {
            const { summary, firstKeptEntryId, tokensBefore, fromHook, details, usage, systemMessage } = entry;
            const system = systemMessage !== undefined;
            return { ...own, summary, firstKeptEntryId, tokensBefore, fromHook, ...given("details", details), ...totalOf(usage), system };
        }
        case "branch_summary": {
            noteBranchSummary(entry);
            const { fromId, fromHook, details, usage } = entry;
            return { ...own, fromId, summary: ownWords(entry.summary), fromHook, ...given("details", details), ...totalOf(usage) };
        }
        case "context_edit": {
            const replacement = entry.replacement === null ? null : lineOf({ role: "with", content: entry.replacement.content });
            return { ...own, targetId: entry.targetId, replacement };
        }
        case "label":
            return { ...own, targetId: entry.targetId, ...given("label", entry.label) };
        case "model_change":
            return { ...own, model: `${entry.provider}/${entry.modelId}` };
        case "thinking_level_change":
            return { ...own, thinkingLevel: entry.thinkingLevel };
        case "custom":
            return { ...own, customType: entry.customType };
        default:
            return own;
    }
}

const PARTS = [["Turn prefix summarization", "prefix"], ["Branch summarization", "branch"], ["Summarization", "history"]];
const FAILURES = [
    [/^Context overflow recovery failed after one /, "recovery_exhausted"],
    [/^Truncated response recovery failed after one /, "length_recovery_exhausted"],
    [/^Already compacted$/, "already_compacted"],
    [/^Nothing to compact /, "nothing_to_compact"],
    [/^Compaction cancelled$/, "cancelled"],
    [/^This operation was aborted$|^Aborted$/, "cancelled"],
    [/^No model (selected|available)/i, "no_model"],
    [/^Agent is already processing/, "running"],
    [/^Wait for the current response /, "running"],
    [/^Wait for the current compaction /, "compacting"],
    [/^Cannot submit a prompt while compaction /, "compacting"],
    [/^Entry [^]* not found$/, "entry_not_found"],
    [/^No messages to continue from$/, "nothing_to_continue"],
    [/^Cannot continue from message role: assistant$/, "nothing_to_continue"],
    [/^Context edit replacement must be /, "invalid_replacement"],
    [/^Entry [^]* is not on the active branch$/, "not_on_path"],
    [/^Entry [^]* does not contribute editable model content$/, "not_editable"],
];

/** An error text as a kind, and for a failed summary which request it was and what the provider said. */
function failureOf(text) {
    const bare = text.replace(/^(Compaction failed|Context overflow recovery failed|Auto-compaction failed): /, "");
    for (const [words, part] of PARTS) {
        if (bare === `${words} attempted to call a tool`) return { kind: "summary_tool_call", part };
        if (!bare.startsWith(`${words} failed: `)) continue;
        const cause = bare.slice(words.length + " failed: ".length);
        if (cause.startsWith("generation hit the token cap")) return { kind: "summary_incomplete", part };
        return { kind: "summary_error", part, cause };
    }
    return { kind: FAILURES.find(([pattern]) => pattern.test(bare))?.[1] ?? "other" };
}

const failure = (text) => (text === undefined ? {} : { failure: failureOf(text) });

function resultOf(result) {
    if (result === undefined) return {};
    const { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter, usage, details } = result;
    return { result: { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter, ...given("details", details), ...totalOf(usage) } };
}

/** A public event as it stands in the trace; undefined for those that do not. */
function publicEvent(event) {
    const { type } = event;
    switch (type) {
        case "agent_start":
        case "turn_start":
        case "agent_settled":
        case "summarization_retry_finished":
            return { event: type };
        case "turn_end":
            return { event: type, stopReason: event.message.stopReason, toolResults: event.toolResults.length };
        case "agent_end":
            return { event: type, willRetry: event.willRetry };
        case "entry_appended":
            return { event: type, id: event.entry.id };
        case "compaction_start":
            return { event: type, reason: event.reason };
        case "compaction_end": {
            const { reason, aborted, willRetry } = event;
            return { event: type, reason, aborted, willRetry, ...failure(event.errorMessage), ...resultOf(event.result) };
        }
        case "auto_retry_start":
        case "summarization_retry_scheduled":
            return { event: type, attempt: event.attempt, maxAttempts: event.maxAttempts, delayMs: event.delayMs };
        case "auto_retry_end":
            return { event: type, success: event.success, attempt: event.attempt };
        case "summarization_retry_attempt_start":
            return { event: type, source: event.source, ...given("reason", event.reason) };
        default:
            return undefined;
    }
}

function extensionEvent(event) {
    const name = { extension: event.type };
    switch (event.type) {
        case "session_before_compact": {
            const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages, isSplitTurn, tokensBefore, previousSummary } = event.preparation;
            const preparation = {
                firstKeptEntryId,
                history: messagesToSummarize.map((message) => message.role),
                prefix: turnPrefixMessages.map((message) => message.role),
                isSplitTurn,
                tokensBefore,
                previousSummary: previousSummary ?? null,
            };
            const { reason, willRetry, customInstructions, branchEntries } = event;
            return { ...name, reason, willRetry, ...given("customInstructions", customInstructions), branchEntries: branchEntries.length, preparation };
        }
        case "session_compact": {
            const { reason, willRetry, fromExtension, compactionEntry } = event;
            return { ...name, reason, willRetry, fromExtension, entryId: compactionEntry.id };
        }
        case "session_compact_failed": {
            const { reason, fromExtension, aborted, errorMessage } = event;
            return { ...name, reason, fromExtension, aborted, ...failure(errorMessage) };
        }
        case "session_before_tree": {
            const { targetId, oldLeafId, commonAncestorId, entriesToSummarize, userWantsSummary, ...rest } = event.preparation;
            const { customInstructions, replaceInstructions, label } = rest;
            const entries = entriesToSummarize.map((entry) => entry.id);
            const wishes = { ...given("customInstructions", customInstructions), ...given("replaceInstructions", replaceInstructions), ...given("label", label) };
            return { ...name, targetId, oldLeafId, commonAncestorId, entries, summarize: userWantsSummary, ...wishes };
        }
        case "session_tree": {
            const { newLeafId, oldLeafId, summaryEntry, fromExtension } = event;
            return { ...name, newLeafId, oldLeafId, ...given("summaryId", summaryEntry?.id), ...given("fromExtension", fromExtension) };
        }
        case "turn_end": {
            const { outcome, messageEntryId, toolResultEntryIds, context } = event;
            return { ...name, outcome, messageId: messageEntryId, toolResultIds: toolResultEntryIds, canContinue: context.canContinue };
        }
        default:
            return { ...name, outcome: event.outcome, canContinue: event.context.canContinue };
    }
}

// ---- clock and timers ---------------------------------------------------------------------------------------------------

/** A clock that stands still between replies and steps, and timers of retries that fire at once. */
class VirtualTime {
    constructor(clock = {}) {
        this.now = REAL.Date.parse(clock.start ?? "2030-01-01T00:00:00.000Z");
        this.step = clock.step ?? 1000;
        this.sleepIsDue = false;
        this.whileAsleep = async () => {};
        this.onTrouble = () => {};
    }

    advance(by = this.step) {
        this.now += by;
    }

    install() {
        const time = this;
        globalThis.Date = class extends REAL.Date {
            constructor(...values) {
                if (values.length === 0) super(time.now);
                else super(...values);
            }
            static now() {
                return time.now;
            }
        };
        globalThis.setTimeout = (use, delay, ...values) => {
            if (!time.sleepIsDue) return REAL.setTimeout(use, delay, ...values);
            time.sleepIsDue = false;
            const sleeper = { cleared: false };
            Promise.resolve().then(() => time.whileAsleep()).then(() => sleeper.cleared || use()).catch((error) => time.onTrouble(error));
            return sleeper;
        };
        globalThis.clearTimeout = (timer) => {
            if (timer !== null && typeof timer === "object" && "cleared" in timer) timer.cleared = true;
            else REAL.clearTimeout(timer);
        };
    }

    static restore() {
        Object.assign(globalThis, REAL);
    }
}

let folder; // where Pi keeps credentials and settings: empty, and gone when the process ends

function agentFolder() {
    if (folder === undefined) {
        folder = mkdtempSync(join(tmpdir(), "pi-control-"));
        process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    }
    return folder;
}

// ---- one run ------------------------------------------------------------------------------------------------------------

class Run {
    constructor(scenario) {
        this.scenario = scenario;
        this.trace = [];
        this.replies = [...(scenario.replies ?? [])];
        this.summaries = [...(scenario.summaries ?? [])];
        this.toolResults = Object.fromEntries(Object.entries(scenario.tools ?? {}).map(([name, results]) => [name, [...results]]));
        this.requests = 0;
        this.routingIds = new Set();
        this.moments = new Map();
        this.started = [];
        this.time = new VirtualTime(scenario.clock);
        this.time.whileAsleep = () => this.reach("retry_wait");
        this.time.onTrouble = (error) => this.fail(error);
        this.stop = new Promise((resolve, reject) => Object.assign(this, { resolveStop: resolve, fail: reject }));
        this.stop.catch(() => {}); // `play` asks for it later
        this.muted = false;
    }

    log(item) {
        if (this.muted) return;
        this.trace.push(item);
        if (this.trace.length >= TRACE_LIMIT) this.end({ stopped: "trace" });
    }

    end(mark) {
        if (this.muted) return;
        this.trace.push(mark);
        this.muted = true;
        this.resolveStop();
    }

    async play() {
        branchSummaries.clear();
        this.folder = agentFolder();
        let watchdog;
        const late = new Promise((_, reject) => {
            watchdog = REAL.setTimeout(() => reject(new Error(`The scenario did not end within ${WALL_LIMIT_MS} ms`)), WALL_LIMIT_MS);
        });
        try {
            await this.open(this.scenario.entries ?? [], this.scenario.leafId);
            this.time.install();
            await Promise.race([this.steps(), this.stop, late]);
            return { trace: this.trace };
        } finally {
            this.muted = true;
            VirtualTime.restore();
            REAL.clearTimeout(watchdog);
            this.session?.dispose();
        }
    }

    async steps() {
        for (const [index, action] of this.scenario.steps.entries()) {
            this.time.advance();
            this.log({ step: index + 1, do: action.do });
            await this.act(action, true);
            while (this.started.length > 0) await Promise.allSettled(this.started.splice(0));
        }
        const context = pi.convertToLlm(this.manager.buildSessionProjection().messages).map(lineOf);
        this.log({
            end: {
                leafId: this.manager.getLeafId(),
                context,
                queued: this.session.agent.steeringQueue.messages.length + this.session.agent.followUpQueue.messages.length,
                unusedReplies: this.replies.length,
                unusedSummaries: this.summaries.length,
            },
        });
    }

    // ---- the session ----

    async open(entries, leafId) {
        const { scenario } = this;
        const models = scenario.models;
        const runtime = await pi.ModelRuntime.create({ authPath: join(this.folder, "auth.json"), modelsPath: join(this.folder, "models.json") });
        const providers = models.length > 0 ? new Set(models.map((model) => model.provider)) : new Set(["none"]);
        this.models = new Map();
        for (const provider of providers) {
            const own = models.filter((model) => model.provider === provider).map(({ provider: _, ...model }) => model);
            const faux = pi.fauxProvider({ provider, models: own.length > 0 ? own : [{ id: "none", contextWindow: 1, maxTokens: 1 }] });
            runtime.registerNativeProvider(faux.provider);
            await runtime.setRuntimeApiKey(provider, "key");
            for (const { id } of own) this.models.set(`${provider}/${id}`, runtime.getModel(provider, id) ?? faux.getModel(id));
            if (models.length === 0) this.placeholder = runtime.getModel(provider, "none") ?? faux.getModel("none");
        }
        this.settings ??= pi.SettingsManager.inMemory({ cacheWarming: "off", ...structuredClone(scenario.settings ?? {}) });
        const manager = pi.SessionManager.inMemory("/", undefined, [{ ...HEADER }, ...structuredClone(entries)]);
        if (leafId === null) manager.resetLeaf();
        else if (leafId !== undefined) manager.branch(leafId);
        // What opening a session writes is no part of a scenario.
        manager.appendModelChange = manager.appendThinkingLevelChange = () => undefined;
        const loader = new pi.DefaultResourceLoader({
            cwd: this.folder, agentDir: this.folder, settingsManager: this.settings, extensionFactories: [(api) => this.extend(api)],
            noExtensions: true, noSkills: true, noPromptTemplates: true, noThemes: true, noContextFiles: true,
            systemPromptOverride: () => "prompt",
        });
        await loader.reload();
        const first = models[0] && this.models.get(`${models[0].provider}/${models[0].id}`);
        const { session } = await pi.createAgentSession({
            cwd: "/", agentDir: this.folder, modelRuntime: runtime, model: this.model ?? first ?? this.placeholder,
            thinkingLevel: this.scenario.thinkingLevel ?? "off", tools: Object.keys(this.toolResults), resourceLoader: loader,
            sessionManager: manager, settingsManager: this.settings, customTools: this.tools(),
        });
        delete manager.appendModelChange;
        delete manager.appendThinkingLevelChange;
        if (models.length === 0) session.agent.state.model = undefined;
        this.session = session;
        this.manager = manager;
        const append = manager._appendEntry.bind(manager);
        manager._appendEntry = (entry) => {
            this.log({ entry: entryOf(entry) });
            return append(entry);
        };
        this.pinPrompt(session);
        session.agent.streamFunction = (model, context, options) => this.stream(model, context, options);
        session.subscribe((event) => this.onPublic(event));
        await session.bindExtensions({ onError: (error) => this.onExtensionError(error) });
    }

    /** The system prompt is the scenario's and nothing else, so that token counts depend on nothing else. */
    pinPrompt(session) {
        const prompt = this.scenario.systemPrompt ?? "";
        const prepare = session._preparePromptAndToolLoadout.bind(session);
        session._preparePromptAndToolLoadout = (options, messages = session.agent.state.messages) => {
            prepare(options, messages);
            const current = pi.currentSystemMessage(messages)?.sections?.preamble ?? "";
            return current === prompt ? undefined : { role: "system", content: "", sections: { preamble: prompt }, timestamp: Date.now() };
        };
    }

    tools() {
        return Object.keys(this.toolResults).map((name) => ({
            name,
            label: name,
            description: name,
            parameters: pi.Type.Object({}),
            execute: async () => {
                const result = this.toolResults[name].shift() ?? { error: "no result is scripted" };
                await this.perform(result.during);
                if (result.error !== undefined) throw new Error(result.error);
                return { content: [{ type: "text", text: result.text }], details: {} };
            },
        }));
    }

    // ---- the provider ----

    stream(model, context, options) {
        const stream = pi.newStream();
        const summary = context.messages.some((message) => message.role === "system" && message.content === pi.summaryPrompt);
        this.requests += 1;
        if (this.requests > (this.scenario.maxRequests ?? 50)) {
            this.end({ stopped: "requests" });
            return stream; // never answered: the run is over
        }
        this.log(summary ? this.summaryRequest(context, options) : this.turnRequest(model, context, options));
        const script = summary ? this.summaries : this.replies;
        const reply = script.shift() ?? { error: "no reply is scripted" };
        void this.answer(stream, model, options, reply).catch((error) => this.fail(error));
        return stream;
    }

    routing(id) {
        if (id === this.session.sessionId) return "session";
        const routing = this.routingIds.has(id) ? "reused" : "fresh";
        this.routingIds.add(id);
        return routing;
    }

    turnRequest(model, context, options) {
        return { request: "turn", model: `${model.provider}/${model.id}`, routing: this.routing(options?.sessionId), messages: context.messages.map(lineOf) };
    }

    summaryRequest(context, options) {
        const text = context.messages.at(-1).content[0].text;
        const part = this.navigation ? "branch" : text.includes("## Original Request") ? "prefix" : "history";
        return {
            request: "summary",
            part,
            previous: text.includes("\n<previous-summary>\n"),
            focus: this.focus !== undefined && text.includes(this.focus),
            maxTokens: options.maxTokens,
            cacheRetention: options.cacheRetention,
            routing: this.routing(options.sessionId),
            ...given("reasoning", options.reasoning),
        };
    }

    async answer(stream, model, options, reply) {
        await this.perform(reply.during);
        this.time.advance(reply.elapse);
        const aborted = options?.signal?.aborted === true;
        const message = {
            role: "assistant",
            content: contentOf(reply),
            api: model.api,
            provider: reply.from?.provider ?? model.provider,
            model: reply.from?.id ?? model.id,
            usage: usageOf(reply.usage ?? { input: 10, output: 2 }),
            stopReason: aborted ? "aborted" : stopReasonOf(reply),
            ...(aborted ? { errorMessage: "Request was aborted" } : given("errorMessage", reply.error)),
            timestamp: Date.now(),
        };
        const failed = message.stopReason === "error" || message.stopReason === "aborted";
        stream.push({ type: "start", partial: { ...message, content: [], stopReason: "pending" } });
        if (failed) stream.push({ type: "error", reason: message.stopReason, error: message });
        else stream.push({ type: "done", reason: message.stopReason, message });
        stream.end(message);
    }

    // ---- hooks ----

    extend(api) {
        const hooks = this.scenario.hooks ?? [];
        for (const event of [...EXTENSION_EVENTS, ...HOOKED_EVENTS]) {
            if (HOOKED_EVENTS.includes(event) && !hooks.some((hook) => hook.on === event)) continue;
            api.on(event, (details) => void this.log(extensionEvent(details)));
        }
        for (const hook of hooks) {
            if (hook.on === "retry_wait" || PUBLIC_MOMENTS.includes(hook.on)) continue;
            api.on(hook.on, async (event) => {
                if (!this.isDue(hook)) return undefined;
                await this.perform(hook.actions, event);
                if (hook.throw !== undefined) throw new Error(hook.throw);
                return hook.answer === undefined ? undefined : withUsage(this.resolved(hook.answer, event));
            });
        }
    }

    /** Whether the hook applies now: at every occasion, or at the nth alone. */
    isDue(hook) {
        const count = (this.moments.get(hook) ?? 0) + 1;
        this.moments.set(hook, count);
        return hook.nth === undefined || hook.nth === count;
    }

    async reach(moment) {
        for (const hook of this.scenario.hooks ?? []) if (hook.on === moment && this.isDue(hook)) await this.perform(hook.actions);
    }

    onPublic(event) {
        const item = publicEvent(event);
        if (item !== undefined) this.log(item);
        if (event.type === "auto_retry_start" || event.type === "summarization_retry_scheduled") this.time.sleepIsDue = true;
        if (PUBLIC_MOMENTS.includes(event.type)) this.reach(event.type).catch((error) => this.fail(error));
    }

    onExtensionError({ event, error }) {
        const text = String(error);
        const drafts = /^Invalid boundary entries: ([^]*)$/.exec(text);
        if (drafts) this.log({ extensionError: event, kind: "invalid_drafts", cause: failureOf(drafts[1]).kind });
        else this.log({ extensionError: event, kind: /requested continuation without/.test(text) ? "not_runnable" : "thrown" });
    }

    // ---- actions ----

    async perform(actions = [], event) {
        for (const action of actions) await this.act(action, false, event);
    }

    /** `wait`: whether an action that lasts is waited for. Inside a run it would wait for itself. */
    async act(action, wait, event) {
        const done = ACTIONS[action.do].call(this, this.resolved(action, event)).catch((error) => {
            this.log({ refused: action.do, ...failureOf(error.message) });
        });
        if (wait || !LASTING.has(action.do)) await done;
        else this.started.push(done);
    }

    /** A copy in which every reference to an entry is its id. */
    resolved(value, event) {
        if (Array.isArray(value)) return value.map((item) => this.resolved(item, event));
        if (value === null || typeof value !== "object") return value;
        if (Object.hasOwn(value, "of")) return this.idOf(value, event);
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.resolved(item, event)]));
    }

    idOf({ of, nth = -1 }, event) {
        if (of === "kept") return event.preparation.firstKeptEntryId;
        if (of === "leaf") return this.manager.getLeafId();
        const matching = this.manager.getEntries().filter((entry) => (entry.type === "message" ? entry.message.role : entry.type) === of);
        const entry = matching.at(nth > 0 ? nth - 1 : nth);
        if (entry === undefined) throw new TypeError(`The scenario names the entry ${of} ${nth}, which is not there`);
        return entry.id;
    }
}

function contentOf(reply) {
    const content = [];
    if (reply.thinking !== undefined) content.push({ type: "thinking", thinking: reply.thinking });
    if (reply.text !== undefined) content.push({ type: "text", text: reply.text });
    for (const { id, name, arguments: args } of reply.calls ?? []) content.push({ type: "toolCall", id, name, arguments: args ?? {} });
    return content;
}

/** An answer whose compaction or summary, if it tells of its usage, tells all of it. */
function withUsage(answer) {
    for (const made of [answer.compaction, answer.summary]) if (made?.usage !== undefined) made.usage = usageOf(made.usage);
    return answer;
}

function stopReasonOf(reply) {
    if (reply.error !== undefined) return "error";
    return reply.stopReason ?? (reply.calls === undefined ? "stop" : "toolUse");
}

function usageOf({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0, totalTokens }) {
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    return { input, output, cacheRead, cacheWrite, totalTokens: totalTokens ?? input + output + cacheRead + cacheWrite, cost };
}

const APPEND = {
    message: (m, d) => m.appendMessage(d.message),
    thinking_level_change: (m, d) => m.appendThinkingLevelChange(d.thinkingLevel),
    model_change: (m, d) => m.appendModelChange(d.provider, d.modelId),
    custom: (m, d) => m.appendCustomEntry(d.customType, d.data),
    label: (m, d) => m.appendLabelChange(d.targetId, d.label),
    session_info: (m, d) => m.appendSessionInfo(d.name),
    context_edit: (m, d) => m.appendContextEdit(d.targetId, d.replacement),
};

/** Actions that end when a run or a compaction ends. */
const LASTING = new Set(["prompt", "compact", "navigate", "abort", "message"]);

const ACTIONS = {
    async prompt({ text, queue }) {
        await this.session.prompt(text, queue === undefined ? undefined : { streamingBehavior: queue });
    },
    async steer({ text }) {
        await this.session.steer(text);
    },
    async followUp({ text }) {
        await this.session.followUp(text);
    },
    async message({ customType, content, display = true, trigger, deliverAs }) {
        const options = { ...given("triggerTurn", trigger), ...given("deliverAs", deliverAs) };
        await this.session.sendCustomMessage({ customType, content, display }, options);
    },
    async compact({ customInstructions }) {
        this.focus = customInstructions;
        const result = await this.session.compact(customInstructions);
        this.log({ returned: "compact", ...resultOf(result) });
    },
    async navigate({ target, ...options }) {
        const { do: _, ...wishes } = options;
        this.focus = wishes.customInstructions;
        this.navigation = true;
        try {
            const { editorText, cancelled, aborted, summaryEntry } = await this.session.navigateTree(target, wishes);
            const more = { ...given("aborted", aborted), ...given("editorText", editorText && cut(editorText)), ...given("summaryId", summaryEntry?.id) };
            this.log({ returned: "navigate", cancelled, ...more, leafId: this.manager.getLeafId() });
        } finally {
            this.navigation = false;
        }
    },
    async abort() {
        await this.session.abort();
    },
    async abortCompaction() {
        this.session.abortCompaction();
    },
    async abortBranchSummary() {
        this.session.abortBranchSummary();
    },
    async abortRetry() {
        this.session.abortRetry();
    },
    async setModel({ provider, id }) {
        this.model = this.models.get(`${provider}/${id}`);
        await this.session.setModel(this.model);
    },
    async setEnabled({ enabled }) {
        this.session.setAutoCompactionEnabled(enabled);
    },
    async append({ entry }) {
        APPEND[entry.type](this.manager, entry);
        this.session.refreshContext();
    },
    async usage() {
        this.log({ usage: this.session.getContextUsage() ?? null });
    },
    async state() {
        const { isStreaming, isCompacting, isIdle } = this.session;
        this.log({ state: { running: isStreaming, compacting: isCompacting, idle: isIdle } });
    },
    async reopen() {
        const entries = this.manager.getEntries();
        this.session.dispose();
        await this.open(entries);
    },
};

let last = Promise.resolve();

/** Plays a scenario after all earlier ones, as the clock is the process's. */
export function run(loadModule, scenario) {
    load ??= loadModule;
    const mine = last.then(async () => {
        await packages();
        return new Run(structuredClone(scenario)).play();
    });
    last = mine.catch(() => undefined);
    return mine;
}
