// `npm run relock`: writes package-lock.json anew for the versions that package.json pins. Where a package comes from is
// left out (npm asks the registry that it is set up for), and so is what an installation does not need.

import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

execSync("npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved", { stdio: "inherit" });
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const entry of Object.values(lock.packages)) {
    delete entry.funding;
    delete entry.license;
}
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
