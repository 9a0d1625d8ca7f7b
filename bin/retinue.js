#!/usr/bin/env node
// Old syntax on purpose: on a Node.js that is too old, this file must still run and print an error.
var NEEDED = [22, 19];
var have = process.versions.node.split(".").map(Number);

if (have[0] < NEEDED[0] || (have[0] === NEEDED[0] && have[1] < NEEDED[1])) {
  console.error(`retinue needs Node.js ${NEEDED.join(".")} or newer; this is Node.js ${process.versions.node}.`);
  process.exit(1);
} else {
  Promise.all([import("node:module"), import("node:fs"), import("node:os"), import("node:path"), import("node:v8")])
    .then(([module, fs, os, path, v8]) => {
      // Chunks that pass through the proxy become garbage immediately. A small young generation frees them before
      // their memory makes V8 collect the whole heap. It is so small that helper threads cost more than they save.
      if (process.argv[2] === "proxy") {
        v8.setFlagsFromString("--semi-space-growth-factor=1");
        v8.setFlagsFromString("--no-parallel-scavenge");
      }
      // Compiling the program takes longer than most commands do.
      var cache = compileCache(fs, os, path);
      if (cache !== null) module.enableCompileCache(cache);
      // Agents wait for these two commands, so they load little.
      if (process.argv[2] === "hook" && process.argv.length === 3)
        return import("../dist/app/hooks/hook.js").then((quick) => quick.hook(process.env));
      if (process.argv[2] === "hook" && process.argv[3] === "--lineage" && process.argv.length === 4)
        return import("../dist/app/hooks/lineage-hook.js")
          .then((quick) => quick.lineageHook())
          .then((changed) => process.stdout.write(changed));
      if (process.argv[2] === "statusline" && process.argv.length === 3)
        return import("../dist/cli/statusline.js")
          .then((quick) => quick.statusline(process.env))
          .then((line) => process.stdout.write(line));
      return import("../dist/cli/main.js");
    })
    .catch((error) => {
      if (error.code !== "ERR_MODULE_NOT_FOUND" || String(error.message).indexOf("dist") < 0) throw error;
      console.error("retinue is not built yet: run `npm run build`, or `npm start` from the checkout.");
      process.exit(1);
    });
}

/**
 * A folder for compiled code that only this user can write to, because code in it is executed. Node's default is a
 * predictable name in the shared temporary folder, where another user could plant code. Null if there is no such
 * folder.
 */
function compileCache(fs, os, path) {
  var folder, found, parents;
  try {
    folder = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "retinue", "compiled");
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    found = fs.lstatSync(folder);
    if (process.getuid !== undefined && (found.uid !== process.getuid() || (found.mode & 0o077) !== 0)) return null;
    // A user who can write to a parent folder could replace this folder after the check.
    parents = [path.dirname(folder), path.dirname(path.dirname(folder))].map((above) => fs.statSync(above));
    if (process.getuid !== undefined && parents.some((above) => isOthers(above, process.getuid()))) return null;
    return found.isDirectory() ? folder : null;
  } catch {
    // No home, or one that cannot be written to.
    return null;
  }
}

/** Whether users other than this one and root can rename entries of a folder. A user's own group is trusted. */
function isOthers(found, user) {
  if (found.uid !== user && found.uid !== 0) return true;
  return (found.mode & 0o002) !== 0 || ((found.mode & 0o020) !== 0 && found.gid !== process.getgid());
}
