// Times the projection and the preparation of the published Pi on one session file: the best of several runs, in
// milliseconds, as JSON. Usage: node bench.mjs FILE KEEP_RECENT_TOKENS RUNS
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.PI_ORACLE_NODE_MODULES ?? join(import.meta.dirname, "node_modules");
const load = (path) => import(pathToFileURL(join(modules, "@earendil-works/pi-coding-agent/dist/core", path)).href);
const { buildSessionProjection, SessionManager } = await load("session-manager.js");
const { prepareCompaction } = await load("compaction/compaction.js");

const [file, keepRecentTokens, runs] = process.argv.slice(2);
const values = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const entries = values.slice(1);
const path = SessionManager.inMemory(process.cwd(), undefined, values).getBranch();
const settings = { enabled: true, reserveTokens: 16384, keepRecentTokens: Number(keepRecentTokens) };

function best(work) {
	let least = Infinity;
	for (let run = 0; run < Number(runs); run++) {
		const start = process.hrtime.bigint();
		work();
		least = Math.min(least, Number(process.hrtime.bigint() - start) / 1e6);
	}
	return least;
}

console.log(
	JSON.stringify({
		projection: best(() => buildSessionProjection(entries)),
		preparation: best(() => prepareCompaction(path, settings)),
	}),
);
