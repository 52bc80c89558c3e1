#!/usr/bin/env node
// Starts the program of this platform, which is in a package of its own. Nothing is downloaded.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { name } = require("../package.json");

const platform = `${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "ccstat.exe" : "ccstat";

let path;
try {
  path = require.resolve(`${name}-${platform}/bin/${program}`);
} catch {
  console.error(
    `ccstat: the package \`${name}-${platform}\` is not installed\n` +
      "it is an optional dependency: install again without --omit=optional; if there is no such package, this platform " +
      "needs a build from source",
  );
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit", windowsHide: true });

// A terminal sends these to the whole foreground group, so the child has them already. Without a terminal they reach this
// process alone.
const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !onTerminal) child.kill(signal);
  });
}

child.on("error", (error) => {
  console.error(`ccstat: cannot start \`${path}\`: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : code);
});
