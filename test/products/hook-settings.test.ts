/** `retinue hooks`: installs hooks in settings of products, whatever they contain, and restores them byte for byte. */
import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { HOOKABLE, planHooks } from "../../src/app/hooks/hook-install.ts";
import { hookCommand } from "../../src/app/hooks/launcher.ts";
import { hookSettings as claudeHooks } from "../../src/providers/claude/hook-settings.ts";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { retinue } from "../support/cli.ts";
import { needsPosix } from "../support/needs.ts";

const scratch = scratchFolder();
const newHome = () => mkdtempSync(join(scratch(), "home-"));

/** Settings as people leave them behind. */
const ODD_JSON: Readonly<Record<string, string>> = {
  "an empty file": "",
  "blank lines": "\n \r\n",
  "a byte order mark": '\uFEFF{ "a": 1 }',
  "comments and trailing commas": '// mine\n{\n\t"a": [1, 2,], /* b */\n\t// last\n}\n// end',
  "Windows line endings": '{\r\n  "a": 1,\r\n  "hooks": {\r\n    // mine\r\n    "Stop": []\r\n  }\r\n}\r\n',
  "unknown fields and numbers": '{"a":{"hooks":[1]},"n":12345678901234567890,"hooks":{"Zed":{"x":1}},"é":"\\u2028"}',
  "hooks of others": '{"hooks":{"Stop":[{"x":1,"hooks":[{"type":"command","command":"say done","more":[]}]}]}}',
  "a repeated key elsewhere": '{"a":1,"a":2}',
  "an array": '[{"hooks":{}}]',
  "hooks as a string": '{"hooks":"none"}',
  "repeated hooks": '{"hooks":{},"b":1,"hooks":{"Stop":[]}}',
  "a repeated event": '{"hooks":{"Stop":[{}],"Stop":[]}}',
  "half of a file": '{"hooks":{"Stop":[',
};
const ODD_TOML: Readonly<Record<string, string>> = {
  "an empty file": "",
  "blank lines": "\n \r\n",
  "a byte order mark": '\uFEFFmodel = "x"\n',
  "comments, without a final newline": '# mine\nmodel = "x" # b\n# end',
  "Windows line endings": 'model = "x"\r\n\r\n[features]\r\nhooks = true\r\n',
  "Windows line endings, without a final one": 'model = "x"\r\n[a]\r\nb = 1',
  "text that looks like hooks": "a = \"\"\"\n[hooks]\nhooks = 1\n\"\"\"\nb = '''\nhooks = 1'''\n",
  "hooks as a string": 'hooks = "none"\n',
  "hooks as a list of values": "hooks = [1, 2]\n",
};

describe.each(HOOKABLE)("hooks of %s", (provider) => {
  const file = PROVIDERS.find(({ name }) => name === provider)?.hooks?.file ?? "";
  const env = (home: string) => ({ HOME: home, RETINUE_HOME: join(home, "data") });
  const rootOf = (home: string) => PROVIDERS.find(({ name }) => name === provider)?.roots(env(home), home)[0] ?? "";
  const hooks = (home: string, action: string) => retinue(home, ["hooks", action, provider, "--yes"], env(home));

  it.each(Object.entries(file.endsWith(".toml") ? ODD_TOML : ODD_JSON))(
    "are installed once or not at all, and leave no trace: %s",
    async (_, before) => {
      const home = newHome();
      const path = join(rootOf(home), file);
      mkdirSync(dirname(path), { recursive: true });
      // Settings are often a link to a folder under version control, and may be read-only.
      const real = join(home, "dotfiles");
      writeFileSync(real, before, { mode: 0o440 });
      symlinkSync(real, path);
      const { code, stderr } = await hooks(home, "install");
      if (code !== 0) {
        expect(stderr).toMatch(/cannot be changed: .+\n.*correct it, then try again/);
        expect(readFileSync(real, "utf8")).toBe(before);
      } else {
        const installed = readFileSync(real, "utf8");
        expect(installed).not.toBe(before);
        expect((await hooks(home, "install")).stderr).toContain("already installed");
        expect(readFileSync(real, "utf8")).toBe(installed);
        // Also if the user adds something in between.
        const added = file.endsWith(".toml") ? "added = 1\n" : "\n// added\n";
        writeFileSync(real, installed + added);
        expect((await hooks(home, "uninstall")).code).toBe(0);
        const isOpen = file.endsWith(".toml") && !/^$|\n$/.test(before);
        const rest = before.trim() === "" && !file.endsWith(".toml") ? "{}" : before;
        expect(readFileSync(real, "utf8")).toBe(rest + (isOpen ? "\n" : "") + added);
        writeFileSync(real, before);
        await hooks(home, "install");
        // A file that cannot be parsed any more is not taken for one without hooks.
        const broken = readFileSync(real, "utf8").replace("{", "");
        writeFileSync(real, broken);
        if (!file.endsWith(".toml")) expect((await hooks(home, "uninstall")).stderr).toContain("cannot be changed");
        expect(readFileSync(real, "utf8")).toBe(broken);
        writeFileSync(real, before);
        await hooks(home, "install");
        await hooks(home, "uninstall");
      }
      expect(readFileSync(real, "utf8")).toBe(before);
      expect([readlinkSync(path), statSync(real).mode & 0o777]).toEqual([real, 0o440]);
      expect(readdirSync(dirname(path))).toEqual([basename(path)]);
    },
  );
});

describe("retinue hooks", () => {
  const hooks = (home: string, action: string, provider: string, ...more: string[]) =>
    retinue(home, ["hooks", action, provider, ...more], { RETINUE_HOME: join(home, "data"), HOME: home });

  it.each([
    [
      "claude",
      ".claude/settings.json",
      '{\n\t"model": "opus",\n\t"hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] } }',
    ],
    ["claude", ".claude/settings.json", null],
    ["codex", ".codex/config.toml", 'model = "x"\n\n[features]\nhooks = true'],
    ["codex", ".codex/config.toml", 'model = "x"\n'],
    ["codex", ".codex/config.toml", null],
    ["qwen", ".qwen/settings.json", '{"model":{"name":"x"},"hooks":{"Notification":[]}}'],
    ["qwen", ".qwen/settings.json", null],
    ["droid", ".factory/settings.json", '{\n    "model": "x"\n}\n'],
    ["qwen", ".qwen/settings.json", '\uFEFF{\r\n  // mine\r\n  "a": 12345678901234567890, /* b */\r\n}'],
    ["droid", ".factory/settings.json", null],
    ["grok", ".grok/hooks/retinue.json", null],
    ["kimi", ".kimi-code/config.toml", 'default_model = "x"\n[[hooks]]\nevent = "Stop"\ncommand = "true"'],
    ["kimi", ".kimi-code/config.toml", null],
  ])("of %s in %s are installed and removed, restoring the file byte for byte", async (provider, file, before) => {
    const home = newHome();
    const path = join(home, file);
    if (before !== null) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, before);
    }
    const shown = await hooks(home, "install", provider, "--yes");
    expect({
      code: shown.code,
      changed: shown.stdout.includes("+ ") && shown.stdout.includes("/data/hooks/retinue hook"),
    }).toEqual({ code: 0, changed: true });
    expect(readFileSync(path, "utf8")).toContain("SubagentStop");
    const twice = await hooks(home, "install", provider, "--yes");
    expect(twice.stderr).toContain("already installed");
    await hooks(home, "uninstall", provider, "--yes");
    expect(existsSync(path) ? readFileSync(path, "utf8") : null).toBe(before);
    expect(existsSync(join(home, file.split("/")[0] ?? ""))).toBe(before !== null);
  });

  it("keep what was changed between two installations", async () => {
    const home = newHome();
    const path = join(home, ".qwen/settings.json");
    mkdirSync(join(home, ".qwen"));
    writeFileSync(path, "{}");
    await hooks(home, "install", "qwen", "--yes");
    // As an older version installed them, and a setting of the user.
    const moved = readFileSync(path, "utf8")
      .replaceAll(join(home, "data/hooks/retinue"), "/opt/node/bin/node /opt/retinue/bin/retinue.js")
      .replace("{", '{ "a": 1, // one\n');
    writeFileSync(path, moved);
    expect((await hooks(home, "install", "qwen", "--yes")).stderr).not.toContain("already");
    expect(readFileSync(path, "utf8")).toMatch(/"a": 1, \/\/ one\n[\s\S]*SubagentStop/);
    expect(readFileSync(path, "utf8")).not.toContain("/opt/node");
    await hooks(home, "uninstall", "qwen", "--yes");
    expect(readFileSync(path, "utf8")).toBe('{ "a": 1 // one\n}');
  });

  it("create the file that a link names", async () => {
    const home = newHome();
    mkdirSync(join(home, ".qwen"));
    symlinkSync("../dotfiles/qwen.json", join(home, ".qwen/settings.json"));
    await hooks(home, "install", "qwen", "--yes");
    expect(readFileSync(join(home, "dotfiles/qwen.json"), "utf8")).toContain("SubagentStop");
    await hooks(home, "uninstall", "qwen", "--yes");
    expect([existsSync(join(home, "dotfiles")), readdirSync(join(home, ".qwen"))]).toEqual([false, ["settings.json"]]);
  });

  it("are removed without later changes of the settings", async () => {
    const home = newHome();
    const path = join(home, ".claude/settings.json");
    await hooks(home, "install", "claude", "--yes");
    const changed = { ...(JSON.parse(readFileSync(path, "utf8")) as object), model: "haiku" };
    writeFileSync(path, JSON.stringify(changed, null, 4));
    await hooks(home, "uninstall", "claude", "--yes");
    expect(readFileSync(path, "utf8")).toBe('{\n    "model": "haiku"\n}');
  });

  it("change the file behind a link, and keep its mode", async () => {
    const home = newHome();
    const real = join(home, "dotfiles.json");
    writeFileSync(real, "{}\n", { mode: 0o640 });
    mkdirSync(join(home, ".claude"));
    symlinkSync(real, join(home, ".claude/settings.json"));
    await hooks(home, "install", "claude", "--yes");
    expect([statSync(real).mode & 0o777, readFileSync(real, "utf8").includes("SubagentStart")]).toEqual([0o640, true]);
    expect(readdirSync(join(home, ".claude"))).toEqual(["settings.json"]);
  });

  it("warn about another tracer, and ask before they change anything", async () => {
    const home = newHome();
    const path = join(home, ".claude/settings.json");
    mkdirSync(join(home, ".claude"));
    const before = JSON.stringify({
      hooks: { Stop: [{ hooks: [{ type: "command", command: "bash ~/.claude/hooks/langsmith_stop.sh" }] }] },
    });
    writeFileSync(path, before);
    const { code, stderr, stdout } = await hooks(home, "install", "claude");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/a hook of another tracer[^\n]*langsmith_stop.sh[\s\S]*--yes/),
    });
    expect(stdout).toContain("+ ");
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  it.each([
    ["an empty file", ""],
    ["a byte order mark and Windows line endings", '\uFEFF{\r\n  "model": "x"\r\n}\r\n'],
    ["hooks with comments", '{\n  "hooks": {\n    // mine\n    "Stop": [ ], "Notification": [] /* b */\n  }\n}'],
    ["events without hooks", '{"hooks":{"Stop":[],"SubagentStart":[],"Zed":[]},"b":1}'],
    ["unknown kinds of hooks", '{"hooks":{"Zed":{"x":1},"Later":5,"Stop":[7,"s",{"hooks":"x"}]}}'],
    [
      "a group of its own hooks",
      '{"hooks":{"Stop":[{"matcher":"*","hooks":[{"type":"command","command":"a"}],"x":1}]}}',
    ],
    ["unknown hooks", '{"hooks":null}'],
  ])("install once, and leave %s as it was", async (_, before) => {
    const home = newHome();
    const path = join(home, ".claude/settings.json");
    mkdirSync(dirname(path));
    writeFileSync(path, before);
    await hooks(home, "install", "claude", "--yes");
    const installed = readFileSync(path, "utf8");
    expect(claudeHooks.install(installed, hookCommand(join(home, "data/hooks/retinue")))).toBe(installed);
    // The user changes something else.
    const edited = installed.replace(/\}(\s*)$/, ', "theme": "dark"}$1');
    writeFileSync(path, edited);
    await hooks(home, "uninstall", "claude", "--yes");
    const edit = (text: string) => (text === "" ? "{" : text).replace(/\}?(\s*)$/, ', "theme": "dark"}$1');
    if (before !== "") expect(readFileSync(path, "utf8")).toBe(edit(before));
    writeFileSync(path, installed);
    await hooks(home, "install", "claude", "--yes");
    writeFileSync(path, before);
    await hooks(home, "install", "claude", "--yes");
    await hooks(home, "uninstall", "claude", "--yes");
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  it("are removed from a group that the user extended, which stays", async () => {
    const home = newHome();
    const path = join(home, ".claude/settings.json");
    await hooks(home, "install", "claude", "--yes");
    const settings = JSON.parse(readFileSync(path, "utf8")) as { hooks: { Stop: { hooks: object[] }[] } };
    settings.hooks.Stop[0]?.hooks.push({ type: "command", command: "say done" });
    writeFileSync(path, JSON.stringify(settings));
    await hooks(home, "uninstall", "claude", "--yes");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      hooks: { Stop: [{ hooks: [{ type: "command", command: "say done" }] }] },
    });
  });

  it("do not overwrite an edit, even one that is made right before they are written", (context) => {
    needsPosix("named pipes")(context);
    const home = newHome();
    const path = join(home, ".qwen/settings.json");
    mkdirSync(dirname(path));
    // More than a pipe holds, so that writing the draft waits for its reader, who edits the settings first.
    writeFileSync(path, JSON.stringify({ long: "x".repeat(500_000) }));
    const planned = planHooks("install", "qwen", { HOME: home, RETINUE_HOME: join(home, "data") });
    const draft = `${path}.retinue-${process.pid}`;
    execFileSync("mkfifo", [draft]);
    const edit = 'exec 3<"$1"; echo mine >"$2"; cat <&3 >/dev/null';
    const editor = spawn("sh", ["-c", edit, "sh", draft, path]);
    onTestFinished(() => void editor.kill());
    expect(() => planned.apply()).toThrow(/was changed in the meantime/);
    expect(readFileSync(path, "utf8")).toBe("mine\n");
    expect(readdirSync(dirname(path))).toEqual(["settings.json"]);
  });

  it.each([
    ["claude", ".claude/settings.json", "[]", /not a JSON object/],
    ["claude", ".claude/settings.json", '{"hooks":"x"}', /its hooks are not an object/],
    ["claude", ".claude/settings.json", '{"hooks":{"Stop":{"hooks":[]}}}', /its hooks of Stop are not a list/],
    ["claude", ".claude/settings.json", '{"hooks":{},"hooks":{}}', /contains "hooks" more than once/],
    ["claude", ".claude/settings.json", '{"hooks":{"Stop":[{}],"Stop":[]}}', /hooks contain "Stop" more than once/],
    ["codex", ".codex/config.toml", "hooks.Stop = []\n", /its hooks\.Stop cannot be extended/],
    ["codex", ".codex/config.toml", '[hooks]\nstate = 1\n"Stop" = []\n', /its "Stop" cannot be extended/],
    ["codex", ".codex/config.toml", "[hooks.SubagentStart]\nx = 1\n", /its \[hooks\.SubagentStart\] cannot/],
    ["kimi", ".kimi-code/config.toml", "[hooks]\nx = 1\n", /its \[hooks\] cannot be extended/],
    ["claude", ".claude/settings.json", "{ broken", /cannot be changed: it is not a JSON object/],
    ["codex", ".codex/config.toml", "hooks = {}\n", /cannot be changed/],
    ["kimi", ".kimi-code/config.toml", Buffer.from([0x23, 0xff, 0x0a]), /not UTF-8/],
  ])("do not change unreadable settings of %s: %s", async (provider, file, before, words) => {
    const home = newHome();
    mkdirSync(join(home, file, ".."), { recursive: true });
    writeFileSync(join(home, file), before);
    const { code, stderr } = await hooks(home, "install", provider, "--yes");
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(words) });
    expect(readFileSync(join(home, file))).toEqual(Buffer.from(before));
  });

  it("are reported as JSON", async () => {
    const { stdout } = await hooks(newHome(), "install", "claude", "--yes", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ changed: true, done: true, before: null, tracers: [], next: null });
  });
});
