/** What the products are made to do when agents start agents. */
import { claudeCommand } from "./lineage.ts";
import {
  agent,
  bash,
  besideUser,
  claude,
  codex,
  done,
  fine,
  type LineageScenario,
  looked,
  shell,
} from "./lineage-steps.ts";

export const LINEAGE: readonly LineageScenario[] = [
  {
    name: "Claude starts Codex, which prints its id",
    scripts: { claude: { main: [bash(codex("review", " --json")), done] }, codex: { review: fine } },
    tree: { main: null, review: "main" },
  },
  {
    name: "two sub-agents of Claude start Codex at the same time",
    fixture: "own-agents-codex",
    scripts: {
      claude: {
        main: [[agent("A"), agent("B")], done],
        A: [bash(codex("one", " 2>/dev/null")), done],
        B: [bash(codex("two", " 2>/dev/null")), done],
      },
      codex: { one: fine, two: fine },
    },
    tree: { main: null, A: "main", B: "main", one: "A", two: "B" },
  },
  {
    name: "two sub-agents of Claude start Codex with the same prompt, and nothing tells which is whose",
    fixture: "own-agents-codex-same",
    scripts: {
      claude: {
        main: [[agent("A"), agent("B")], done],
        A: [bash(codex("same", " 2>/dev/null")), done],
        B: [bash(codex("same", " 2>/dev/null")), done],
      },
      codex: { same: [{ blocks: [{ text: "a.txt is fine: one line, nothing to change." }], afterMs: 2_500 }] },
    },
    tree: { main: null, A: "main", B: "main", same: null },
    undecided: ["same"],
  },
  {
    name: "the same, and a hook names the agents while a server sees the processes",
    scripts: {
      claude: {
        main: [[agent("A"), agent("B")], done],
        A: [bash(codex("same", " 2>/dev/null")), done],
        B: [bash(codex("same", " 2>/dev/null")), done],
      },
      codex: { same: [{ blocks: [{ text: "a.txt is fine: one line, nothing to change." }], afterMs: 8_000 }] },
    },
    hooked: true,
    served: true,
    tree: { main: null, A: "main", B: "main", same: "A" },
    shared: { same: ["A", "B"] },
  },
  {
    name: "Claude starts OpenCode, which has a child of its own",
    fixture: "own-opencode",
    scripts: {
      claude: { main: [bash('opencode run "Look into it, please. @@look"', { timeout: 300_000 }), done] },
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
    name: "Codex starts Claude, which prints only its answer",
    fixture: "own-codex-claude",
    scripts: { codex: { root: [shell(claude("inner")), done] }, claude: { inner: looked } },
    act: ({ run }) => run(["codex", "exec", "Have Claude look. @@root"]),
    tree: { root: null, inner: "root" },
  },
  {
    name: "Claude starts Claude in the background, twice",
    fixture: "own-background",
    scripts: {
      claude: {
        main: [
          bash(claude("first", " > $TMPDIR/first.txt 2>&1 &")),
          bash(claude("second"), { run_in_background: true }),
          bash("while [ ! -s $TMPDIR/first.txt ]; do sleep 0.1; done; sleep 3; cat $TMPDIR/first.txt"),
          done,
        ],
        first: looked,
        second: looked,
      },
    },
    tree: { main: null, first: "main", second: "main" },
  },
  {
    name: "a detached process and a window of tmux",
    fixture: "own-detached",
    scripts: {
      claude: {
        main: [
          bash(`setsid -f ${codex("detached", " > /dev/null 2>&1")}`),
          bash(`tmux -L retinue-lineage new-session -d '${codex("window", " > $TMPDIR/window.txt 2>&1")}'`),
          bash("while [ ! -s $TMPDIR/window.txt ]; do sleep 0.1; done; sleep 4; echo waited"),
          done,
        ],
      },
      codex: { detached: fine, window: fine },
    },
    tree: { main: null, detached: "main", window: "main" },
  },
  {
    name: "a script starts Codex, and neither its command nor its output names Codex",
    fixture: "own-script",
    files: { "scripts/review.sh": `#!/bin/sh\ncodex exec "Review $1 in one line. @@review" 2>/dev/null\n` },
    scripts: { claude: { main: [bash("sh ./scripts/review.sh a.txt"), done] }, codex: { review: fine } },
    tree: { main: null, review: "main" },
  },
  {
    name: "a Makefile starts Codex",
    fixture: "own-makefile",
    files: { Makefile: `review:\n\t@codex exec "Review a.txt in one line. @@review" 2>/dev/null\n` },
    scripts: { claude: { main: [bash("make -s review"), done] }, codex: { review: fine } },
    tree: { main: null, review: "main" },
  },
  {
    name: "three deep: Claude, Codex, Claude",
    fixture: "own-three-deep",
    scripts: {
      claude: { main: [bash(codex("middle", " --json")), done], inner: looked },
      codex: { middle: [shell(claude("inner")), done] },
    },
    tree: { main: null, middle: "main", inner: "middle" },
  },
  {
    name: "a user runs Codex while Claude waits for something else",
    fixture: "own-unrelated",
    scripts: { claude: { main: [bash("sleep 3; ls -R ~/.codex/sessions"), done] }, codex: { review: fine } },
    act: async ({ start, run, reached }) => {
      const outer = start(claudeCommand("Wait a moment. @@main"));
      await reached("main", 0);
      await run(["codex", "exec", "Review a.txt for me. @@review"]);
      await outer.ended;
    },
    tree: { main: null, review: null },
  },
  {
    name: "a user runs the same Codex command as Claude, at the same time",
    scripts: {
      claude: { main: [bash(codex("same", " 2>/dev/null")), done] },
      codex: { same: [{ blocks: [{ text: "a.txt is fine: one line, nothing to change." }], afterMs: 2_500 }] },
    },
    act: async ({ start, run, reached }) => {
      const outer = start(claudeCommand("Ask Codex. @@main"));
      await reached("same", 0);
      await run(["codex", "exec", "Review a.txt for me. @@same"]);
      await outer.ended;
    },
    // The user's thread ends after the call, because it began later.
    tree: { main: null, same: "main" },
  },
  {
    name: "a user runs the same Codex command while that of Claude runs",
    fixture: "own-beside-user",
    ...besideUser(),
    tree: { main: null, same: null },
    undecided: ["same"],
  },
  {
    name: "the same, and a server sees the processes",
    ...besideUser(),
    served: true,
    tree: { main: null, same: "main" },
  },
  {
    name: "Claude continues a thread of the user's",
    fixture: "own-continued",
    scripts: {
      claude: { main: [bash('codex exec resume --last "And again, please. @@again"'), done] },
      codex: { own: fine, again: [{ text: "still fine" }] },
    },
    act: async ({ run }) => {
      await run(["codex", "exec", "Review a.txt for me. @@own"]);
      await run(claudeCommand("Go on. @@main"));
    },
    tree: { main: null, own: null },
  },
  {
    name: "three deep, each in the background: Claude, Codex, Claude",
    fixture: "own-three-detached",
    scripts: {
      claude: {
        main: [
          bash(`(cd . && nohup ${codex("middle", " > /dev/null 2>&1")}) &`),
          bash("while [ ! -s $TMPDIR/inner.txt ]; do sleep 0.1; done; sleep 3; echo waited"),
          done,
        ],
        inner: looked,
      },
      codex: { middle: [shell(`setsid -f ${claude("inner", " > $TMPDIR/inner.txt 2>&1")}`), shell("sleep 2"), done] },
    },
    tree: { main: null, middle: "main", inner: "middle" },
  },
  {
    name: "two sub-agents of Claude start Codex with the same prompt, and each prints its id",
    fixture: "own-agents-codex-printed",
    scripts: {
      claude: {
        main: [[agent("A"), agent("B")], done],
        A: [bash(codex("same", " --json")), done],
        B: [bash(codex("same", " --json")), done],
      },
      codex: { same: [{ blocks: [{ text: "a.txt is fine: one line, nothing to change." }], afterMs: 1_000 }] },
    },
    tree: { main: null, A: "main", B: "main", same: "A" },
    shared: { same: ["A", "B"] },
  },
  {
    name: "a thread of the user's, whose id the command of Claude prints",
    fixture: "own-foreign-id",
    scripts: {
      claude: {
        main: [
          bash(`${codex("review", " 2>/dev/null")}; while [ ! -s $TMPDIR/id ]; do sleep 0.1; done; head -1 $TMPDIR/id`),
          done,
        ],
      },
      codex: {
        review: [{ blocks: [{ text: "a.txt is fine: one line, nothing to change." }], afterMs: 4_000 }],
        other: [{ text: "There is nothing else here." }],
      },
    },
    act: async ({ start, run, reached }) => {
      const outer = start(claudeCommand("Ask Codex. @@main"));
      await reached("review", 0);
      await run(["sh", "-c", 'codex exec --json "Look around. @@other" > $TMPDIR/id']);
      await outer.ended;
    },
    tree: { main: null, review: "main", other: null },
  },
  {
    name: "Codex started as a package",
    fixture: "own-npx",
    files: { "node_modules/.bin/codex": '#!/bin/sh\nexec "$HOME/../bin/codex" "$@"\n' },
    scripts: {
      claude: { main: [bash(`npx --no-install ${codex("review", " 2>/dev/null")}`), done] },
      codex: { review: fine },
    },
    tree: { main: null, review: "main" },
  },
];
