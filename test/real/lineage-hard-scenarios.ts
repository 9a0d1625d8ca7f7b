/** As `lineage-scenarios.ts`; most links that look right at first sight are wrong here, or the evidence is elsewhere. */
import { agent as codexAgent, wait as codexWait } from "./codex/scenarios.ts";
import { CODE_MODEL, claudeCommand } from "./lineage.ts";
import {
  agent,
  bash,
  besideUser,
  claude,
  codex,
  done,
  fine,
  firstTakes,
  inCode,
  type LineageScenario,
  looked,
  openShell,
  shell,
} from "./lineage-steps.ts";

export const HARD_LINEAGE: readonly LineageScenario[] = [
  {
    name: "Claude starts OpenCode, which prints its own id and that of its child",
    fixture: "own-opencode-printed",
    scripts: {
      claude: {
        main: [bash('opencode run --format json "Look into it, please. @@look"', { timeout: 300_000 }), done],
      },
      opencode: {
        look: [
          {
            tools: [
              { name: "task", args: { description: "Inner", prompt: "Do it. @@inner", subagent_type: "general" } },
            ],
          },
          { text: "the inner agent looked into it" },
        ],
        inner: [{ text: "looked" }],
      },
    },
    tree: { main: null, look: "main", inner: "look" },
  },
  {
    name: "an agent of OpenCode starts Claude, which prints its id",
    fixture: "own-opencode-agent-claude",
    scripts: {
      opencode: {
        main: [
          { tools: [{ name: "task", args: { description: "A", prompt: "Do it. @@A", subagent_type: "general" } }] },
          { text: "All done." },
        ],
        A: [{ tools: [openShell(claude("inner", " --output-format json"))] }, { text: "A is done." }],
      },
      claude: { inner: looked },
    },
    act: ({ run }) => run(["opencode", "run", "Have Claude look. @@main"]),
    tree: { main: null, A: "main", inner: "A" },
  },
  {
    name: "two agents of OpenCode start Claude, which prints only its answer",
    fixture: "own-opencode-agents-claude",
    scripts: {
      opencode: {
        main: [
          {
            tools: ["A", "B"].map((marker) => ({
              name: "task",
              args: { description: marker, prompt: `Do it. @@${marker}`, subagent_type: "general" },
            })),
          },
          { text: "All done." },
        ],
        A: [{ tools: [openShell(claude("one"))] }, { text: "A is done." }],
        B: [{ tools: [openShell(claude("two"))] }, { text: "B is done." }],
      },
      claude: { one: looked, two: looked },
    },
    act: ({ run }) => run(["opencode", "run", "Have Claude look. @@main"]),
    tree: { main: null, A: "main", B: "main", one: "A", two: "B" },
  },
  {
    name: "two sub-agents of Claude start Codex with the same prompt, and one takes longer",
    fixture: "own-agents-codex-staggered",
    scripts: {
      claude: {
        main: [[agent("A"), agent("B")], done],
        A: [bash(codex("same", " --json > $TMPDIR/A.out")), done],
        B: [bash(codex("same", " --json > $TMPDIR/B.out")), done],
      },
      codex: { same: [firstTakes(12_000)] },
    },
    tree: { main: null, A: "main", B: "main", same: "A" },
    shared: { same: ["A", "B"] },
  },
  {
    name: "two agents of Codex start Claude with the same prompt, and nothing tells which is whose",
    fixture: "own-codex-agents-claude-same",
    scripts: {
      codex: {
        root: [
          (asked) => [codexAgent(asked, "A"), codexAgent(asked, "B")],
          codexWait,
          codexWait,
          { blocks: [{ text: "All done." }], afterMs: 12_000 },
        ],
        // Both calls last longer than both threads.
        A: [shell(`${claude("same")} --output-format json > $TMPDIR/A.out; sleep 10`), done],
        B: [shell(`${claude("same")} --output-format json > $TMPDIR/B.out; sleep 10`), done],
      },
      claude: { same: [{ blocks: [{ text: "a.txt has one word, alpha." }], afterMs: 4_000 }] },
    },
    act: ({ run }) => run(["codex", "exec", "Have two agents ask Claude. @@root"]),
    tree: { root: null, A: "root", B: "root", same: "A" },
    shared: { same: ["A", "B"] },
    undecided: ["same"],
  },
  {
    name: "Claude starts Claude, which prints only its answer, and has an agent of its own",
    fixture: "own-claude-text",
    scripts: {
      claude: {
        main: [bash(claude("inner")), done],
        inner: [agent("A"), { text: "a.txt has one word, alpha." }],
        A: looked,
      },
    },
    tree: { main: null, inner: "main", A: "inner" },
  },
  {
    name: "a user runs Codex while Claude only mentions the same command",
    fixture: "own-mention",
    scripts: {
      claude: {
        main: [bash(`echo 'try: ${codex("review")}' > hint.txt; grep -n "codex exec" hint.txt; sleep 6`), done],
      },
      codex: { review: fine },
    },
    act: async ({ start, run, reached }) => {
      const outer = start(claudeCommand("Write a hint. @@main"));
      await reached("main", 0);
      await run(["codex", "exec", "Review a.txt for me. @@review"]);
      await outer.ended;
    },
    tree: { main: null, review: null },
  },
  {
    name: "a user runs Codex while Claude reads what it records",
    fixture: "own-reads",
    scripts: {
      claude: {
        main: [bash("sleep 5; head -c 600 ~/.codex/sessions/*/*/*/*.jsonl; codex --version; ls ~/.codex"), done],
      },
      codex: { review: fine },
    },
    act: async ({ start, run, reached }) => {
      const outer = start(claudeCommand("Look at Codex. @@main"));
      await reached("main", 0);
      await run(["codex", "exec", "Review a.txt for me. @@review"]);
      await outer.ended;
    },
    tree: { main: null, review: null },
  },
  {
    name: "a user runs the same Codex command while that of Claude runs, which prints its id",
    fixture: "own-one-printed",
    ...besideUser(" --json"),
    tree: { main: null, same: "main" },
    shared: { same: ["main", null] },
  },
  {
    name: "Codex starts two Claudes at once in code mode",
    fixture: "own-codex-code-claude",
    codexModel: CODE_MODEL,
    scripts: {
      codex: { root: [inCode(claude("one"), claude("two")), done] },
      claude: { one: looked, two: looked },
    },
    act: ({ run }) => run(["codex", "exec", "Ask Claude twice. @@root"]),
    tree: { root: null, one: "root", two: "root" },
  },
  {
    name: "Claude starts Codex, and continues its thread with a second command",
    fixture: "own-followed-up",
    scripts: {
      claude: {
        main: [
          bash(codex("review", " 2>/dev/null")),
          bash('codex exec resume --last "Really? @@again" 2>/dev/null'),
          done,
        ],
      },
      codex: { review: fine, again: [{ text: "yes, it is fine" }] },
    },
    continues: { again: "review" },
    tree: { main: null, review: "main" },
  },
  {
    name: "two sub-agents of Claude start agents whose prompts are texts of several lines",
    fixture: "own-heredocs",
    scripts: {
      claude: {
        main: [[agent("A"), agent("B")], done],
        A: [bash(`cat <<'EOF' | codex exec - 2>/dev/null\nReview "a.txt" (it's short).\n\nBe brief. @@one\nEOF`), done],
        B: [
          bash(
            `codex exec "$(cat <<'EOF'\nReview "a.txt" (it's short).\n\nBe kind. @@two\nEOF\n)" </dev/null 2>/dev/null`,
          ),
          done,
        ],
      },
      codex: { one: fine, two: fine },
    },
    tree: { main: null, A: "main", B: "main", one: "A", two: "B" },
  },
  {
    name: "Claude starts two agents in one command, of which one fails, and one in another folder",
    fixture: "own-several",
    files: { "sub/b.txt": "beta\n" },
    scripts: {
      claude: {
        main: [
          bash(
            `timeout 60 ${codex("bad", " > $TMPDIR/bad.txt 2>&1")} & ${claude("good", " > $TMPDIR/good.txt")} & wait; true`,
          ),
          bash(`bash -lc 'cd sub && FOO=1 ${codex("inner")} 2>/dev/null | tee out.txt'`),
          done,
        ],
        good: looked,
      },
      codex: { bad: [{ error: 400 }], inner: fine },
    },
    tree: { main: null, bad: "main", good: "main", inner: "main" },
  },
  {
    name: "Claude is killed while the Codex that it started works",
    fixture: "own-killed",
    scripts: {
      claude: { main: [bash(codex("review", " 2>/dev/null")), done] },
      codex: { review: [{ blocks: [{ text: "a.txt is fine: one line, nothing to change." }], afterMs: 8_000 }] },
    },
    act: async ({ start, reached }) => {
      const outer = start(claudeCommand("Ask Codex. @@main"));
      await reached("review", 0);
      outer.signalGroup("SIGKILL");
      await outer.ended;
    },
    tree: { main: null, review: "main" },
  },
];
