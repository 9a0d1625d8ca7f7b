import { describe, expect, it } from "vitest";
import { launchesIn } from "./launches.ts";

const CWD = "/home/dev/repo";

/** The products that a command starts, each with its longest possible prompt; `?` if the prompt is open. */
function startsOf(command: string): string[] {
  return launchesIn(command, CWD).launches.map(({ provider, prompts, open, times, background }) => {
    const prompt = prompts.map((pieces) => pieces.join("…")).toSorted((a, b) => b.length - a.length)[0] ?? "";
    return [
      provider,
      open ? "?" : prompt,
      ...(times === 1 ? [] : [`×${times ?? "n"}`]),
      ...(background ? ["&"] : []),
    ].join(" ");
  });
}

describe("commands that start a product", () => {
  it.each([
    ["codex exec 'review a.txt'", ["codex review a.txt"]],
    ['codex exec --json "say \\"hi\\" to $USER now"', ['codex say "hi" to … now']],
    ["claude -p 'what is it?' --output-format json", ["claude what is it?"]],
    ["/opt/bin/claude --print 'one two'", ["claude one two"]],
    ["gemini -p 'explain this file'", ["gemini explain this file"]],
    ["qwen --prompt 'explain this file'", ["qwen explain this file"]],
    ["pi -p 'explain this file'", ["pi explain this file"]],
    ["opencode run fix the bug", ["opencode run fix the bug"]],
    ["droid exec 'explain this file'", ["droid explain this file"]],
    ["kilo run 'explain this file'", ["kilo explain this file"]],
    ["npx -y @openai/codex@0.166.0 exec 'do it now'", ["codex do it now"]],
    ["pnpm dlx @anthropic-ai/claude-code -p 'do it now'", ["claude do it now"]],
    ["FOO=1 nohup timeout -k 5 60 codex exec 'do it now' > out.txt 2>&1 &", ["codex do it now &"]],
    ["setsid -f claude -p 'do it now'", ["claude do it now &"]],
    ["bash -lc \"codex exec 'do it now'\"", ["codex do it now"]],
    ["tmux new-session -d -s x 'codex exec \"do it now\"'", ["codex do it now &"]],
    ["tmux send-keys -t x 'claude -p \"do it now\"' Enter", ["claude do it now &"]],
    ["OUT=$(claude -p 'do it now'); echo \"$OUT\"", ["claude do it now"]],
    ["echo `codex exec 'do it now'`", ["codex do it now"]],
    ["(cd sub && codex exec 'do it now')", ["codex do it now"]],
    ["codex exec do\u00a0it\fnow", ["codex do\u00a0it\fnow"]],
    [
      "if true; then codex exec 'one is this'; else codex exec 'two is this'; fi",
      ["codex one is this", "codex two is this"],
    ],
    ['for f in a b c; do codex exec "review $f please"; done', ["codex review … please ×3"]],
    ["for i in {1..4}; do codex exec 'do it now' & done; wait", ["codex do it now ×4 &"]],
    ['for f in *.txt; do codex exec "review $f please"; done', ["codex review … please ×n"]],
    ["ls | xargs -n1 codex exec 'review this one'", ["codex ? ×n"]],
    ["cat prompt.md | codex exec -", ["codex ?"]],
    ["claude -p < prompt.md", ["claude ?"]],
    ['codex exec "$(cat prompt.md)"', ["codex ?"]],
    ["claude -p <<'EOF'\nfirst line\nsecond line\nEOF\necho done", ["claude first line\nsecond line"]],
    ["codex exec - <<< 'from a string'", ["codex from a string"]],
    ["retinue run -- codex exec 'do it now'", ["codex do it now"]],
    ["mise exec node@22 -- claude -p 'do it now'", ["claude do it now"]],
    ["npm exec --yes -- @openai/codex exec 'do it now'", ["codex do it now"]],
    ["npx --package=@openai/codex codex exec 'do it now'", ["codex do it now"]],
    ["(cd sub && codex exec 'do it now') > out.txt 2>&1 &", ["codex do it now &"]],
    ["{ codex exec 'one is this'; codex exec 'two is this'; } &", ["codex one is this &", "codex two is this &"]],
    ["codex exec 'do it now' 2>&1 | tee out.txt &", ["codex do it now &"]],
    ["cd sub && codex exec 'do it now' & wait", ["codex do it now &"]],
    ["for f in a b; do codex exec 'do it now'; done &", ["codex do it now ×2 &"]],
    ["codex exec 'one is this'; codex exec 'two is this' &", ["codex one is this", "codex two is this &"]],
    ["(sleep 1) & codex exec 'do it now'", ["codex do it now"]],
    ["case $X in a) codex exec 'do it now' ;; esac", ["codex do it now"]],
    ["OUT=$(codex exec 'do it now' 2>/dev/null) && echo $OUT", ["codex do it now"]],
    ["systemd-run --user codex exec 'do it now'", ["codex do it now &"]],
    ["script -qc \"claude -p 'do it now'\" /dev/null", ["claude do it now"]],
    ["screen -dmS x codex exec 'do it now'", ["codex do it now &"]],
    ["parallel codex exec 'review {} please' ::: a b", ["codex ? ×n"]],
    ["ls | xargs -I{} codex exec 'review {} please'", ["codex ? ×n"]],
    ["review() { codex exec \"$1\"; }; review 'do it now'", ["codex ?"]],
    ["claude -p 'doctor'", ["claude doctor"]],
    ["gemini -m gemini-2.5-pro --yolo -p 'explain this file'", ["gemini explain this file"]],
    ["copilot -p 'explain this file' --allow-all-tools", ["copilot explain this file"]],
    ["kimi --yolo -p 'explain this file'", ["kimi explain this file"]],
    ["cline 'explain this file'", ["cline explain this file"]],
    ["grok -p 'explain this file' --always-approve", ["grok explain this file"]],
    ["omp -p 'explain this file'", ["omp explain this file"]],
    ["letta --new-agent -p 'explain this file'", ["letta explain this file"]],
    ["crush run 'explain this file'", ["crush explain this file"]],
    ["goose run -t 'explain this file'", ["goose explain this file"]],
    ["codex exec -C ../other 'do it now'", ["codex exec ../other do it now"]],
    ["codex exec resume --last 'go on' ; codex exec 'do it now'", ["codex do it now"]],
    ["claude -p --resume 123 --fork-session 'do it now'", ["claude do it now"]],
    // The text is in the command, although it is not an argument.
    ["echo 'what is it?' | claude -p --output-format json", ["claude what is it?"]],
    ["printf '%s\\n' 'what is it?' | codex exec -", ["codex what is it?"]],
    ["printf 'review %s now' \"$F\" | codex exec -", ["codex review … now"]],
    ["cat <<'EOF' | codex exec - 2>/dev/null\nfirst line\nit's the second\nEOF", ["codex first line\nit's the second"]],
    [
      "claude -p \"$(cat <<'EOF'\nit's (a) \"text\"\nEOF\n)\" && codex exec 'do it now'",
      ['claude it\'s (a) "text"', "codex do it now"],
    ],
    ["cat > p.md <<'EOF'\ndo it now\nEOF\ncodex exec - < p.md", ["codex do it now"]],
    ["echo 'do it' > p.md; echo 'right now' >> p.md; codex exec \"$(cat p.md)\"", ["codex do it\nright now"]],
    ["echo 'do it' >> p.md; codex exec - < p.md", ["codex ?"]],
    ["P='do it now'; codex exec \"$P\" </dev/null", ["codex do it now"]],
    ['P=\'do it now\'; P="$P, please"; codex exec "$P"', ["codex ?"]],
    ["for P in 'a b' 'c d'; do codex exec \"$P\"; done", ["codex ? ×2"]],
    ["BIN=codex; $BIN exec 'do it now'", ["codex do it now"]],
    ["\"$HOME/.local/bin/codex\" exec 'do it now'", ["codex do it now"]],
    ["bash <<'EOF'\ncodex exec 'do it now'\nEOF", ["codex do it now"]],
    ["cat > run.sh <<'EOF'\ncodex exec \"review $1 please\" &\nEOF\nbash run.sh a.txt", ["codex review … please &"]],
    ["function ask { codex exec \"$1\"; }; ask 'do it now'", ["codex ?"]],
    ["poetry run codex exec 'do it now'", ["codex do it now"]],
    ["direnv exec . claude -p 'do it now'", ["claude do it now"]],
    // Text from elsewhere may be added to a prompt, but not replace it.
    ["git diff | codex exec 'review this diff'", ["codex review this diff"]],
    ["codex exec 'do it now' </dev/null", ["codex do it now"]],
    ["cat p.md | claude -p --append-system-prompt 'be very brief'", ["claude ?"]],
  ])("%s", (command, starts) => {
    expect(startsOf(command)).toEqual(starts);
  });

  it.each([
    "command -v codex",
    "claude -pc 'go on'",
    "poetry run pytest codex exec",
    "cat > run.sh <<'EOF'\ncodex exec 'do it now'\nEOF\ncat run.sh",
    "echo 'codex exec is a command'",
    "grep -rn 'claude -p' docs",
    "cat ~/.claude/settings.json",
    "ls -t ~/.codex/sessions/2026/11/16",
    "codex --version",
    "codex exec --help",
    "codex login status",
    "claude mcp list",
    "codex resume 01a1e4c3-9ab0-70d3-a253-b9b470b937ad",
    "codex exec resume 01a1e4c3-9ab0-70d3-a253-b9b470b937ad 'go on'",
    "claude -p -c 'go on'",
    "claude --resume 01a1e4c3 -p 'go on'",
    "opencode run --continue 'go on'",
    "opencode export ses_123",
    "ssh host codex exec 'do it'",
    "sudo -u other codex exec 'do it'",
    "docker run image claude -p 'do it'",
    "which codex claude",
    "# codex exec 'do it'",
    "git commit -m 'use codex exec'",
    "git log -- codex",
    "cat > run.sh <<'EOF'\ncodex exec 'do it now'\nEOF",
    "pi --no-session -p 'do it'",
    "qwen sessions list",
    "cline auth -p openai",
    "droid mcp list",
    "kilo run -s ses_123 'go on'",
    "sleep 2",
  ])("not: %s", (command) => {
    expect(launchesIn(command, CWD).launches).toEqual([]);
  });

  it("names the text of a heredoc", () => {
    const [launch] = launchesIn("claude -p <<'EOF'\nfirst line\nsecond line\nEOF\necho done", CWD).launches;
    expect(launch?.prompts).toContainEqual(["first line\nsecond line"]);
  });

  it("names the id that the command gives to the session", () => {
    const [launch] = launchesIn("claude -p --session-id 01a1e4c3-9ab0-70d3-a253-b9b470b937ad 'x'", CWD).launches;
    expect(launch?.id).toBe("01a1e4c3-9ab0-70d3-a253-b9b470b937ad");
  });
});

describe("folders of a command", () => {
  it.each([
    ["codex exec 'x'", [CWD]],
    ["cd sub/dir && codex exec 'x'", [CWD, `${CWD}/sub/dir`]],
    ["cd /tmp; codex exec 'x'", [CWD, "/tmp"]],
    ["codex exec --cd ../other 'x'", [CWD, "/home/dev/other"]],
    ["opencode run --dir=/srv 'x'", [CWD, "/srv"]],
    ["cd \"$DIR\" && codex exec 'x'", null],
  ])("%s", (command, folders) => {
    expect(launchesIn(command, CWD).folders).toEqual(folders);
  });
});

describe("scripts", () => {
  it.each([
    "./scripts/review.sh a.txt",
    "make review",
    "npm run review",
    "bash review.sh",
    "python3 tool.py",
    "python3 -c 'import subprocess; subprocess.run([\"./review.sh\"])'",
    "tmux new -d ./run.sh",
  ])("%s may start agents", (command) => {
    expect(launchesIn(command, CWD)).toMatchObject({ launches: [], wraps: true });
  });
  it.each([
    "ls -la",
    "git status",
    "cat a.txt | grep x",
    "sleep 2",
    "echo make",
    "/bin/cat review.txt",
    "python3 -c 'print(open(\"x.jsonl\").read())'",
    "python3 - <<'EOF'\nimport json\nprint(json.dumps(1))\nEOF",
    "while [ ! -s x ]; do sleep 1; done; cat x",
  ])("%s does not", (command) => {
    expect(launchesIn(command, CWD)).toMatchObject({ launches: [], wraps: false });
  });
});
