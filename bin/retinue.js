#!/usr/bin/env node
// Old syntax on purpose: this file must still run, and speak, on a Node that is too old for the rest.
var NEEDED = [22, 19];
var have = process.versions.node.split(".").map(Number);

if (have[0] < NEEDED[0] || (have[0] === NEEDED[0] && have[1] < NEEDED[1])) {
  console.error(`retinue needs Node.js ${NEEDED.join(".")} or newer; this is Node.js ${process.versions.node}.`);
  process.exit(1);
} else {
  import("node:module")
    .then((module) => {
      // Compiling the program takes longer than most commands do; Node keeps the result in the folder for temporary files.
      module.enableCompileCache();
      // Agents wait for these two.
      if (process.argv[2] === "hook" && process.argv.length === 3) return import("../dist/app/hook.js").then((quick) => quick.hook(process.env));
      if (process.argv[2] === "statusline" && process.argv.length === 3)
        return import("../dist/cli/statusline.js").then((quick) => quick.statusline(process.env)).then((line) => process.stdout.write(line));
      return import("../dist/cli/main.js");
    })
    .catch((error) => {
      if (error.code !== "ERR_MODULE_NOT_FOUND" || String(error.message).indexOf("dist") < 0) throw error;
      console.error("retinue is not built yet: run `npm run build`, or `npm start` from the checkout.");
      process.exit(1);
    });
}
