// What both adapters to published Pi packages stand in: a process that reads nothing of the user's, that keeps standard
// output for answers, and that finds the packages in the node_modules folder which PI_ORACLE_NODE_MODULES names, or
// beside this file. Has to be imported before anything of Pi.

import { Console } from "node:console";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const nodeModules = process.env.PI_ORACLE_NODE_MODULES ?? join(dirname(fileURLToPath(import.meta.url)), "node_modules");
for (const name of Object.keys(process.env)) if (name.startsWith("PI_")) delete process.env[name];
process.env.HOME = process.env.USERPROFILE = join(tmpdir(), `no-home-${randomUUID()}`); // names a folder that is not there

export const writeToStdout = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
globalThis.console = new Console(process.stderr, process.stderr);

const packages = resolve(nodeModules, "@earendil-works");

/** Imports a file of the packages; by file, as they do not export all that is asked for. */
export const load = (file) => import(pathToFileURL(join(packages, file)).href);

/** The package.json of a package. Ends the process with one clear line where it is not installed. */
export function manifestOf(name) {
    const file = join(packages, name, "package.json");
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
    console.error(`${packages} does not hold ${name}; run \`npm ci\` in the folder of the adapter pi, or set PI_ORACLE_NODE_MODULES`);
    process.exit(2);
}
