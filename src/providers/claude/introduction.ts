import type { AgentKey } from "../../core/facts/ids.ts";
import type { AgentDescribed } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { isWarmUp, readUserText } from "./prompt.ts";
import { CONVERSATION, type Row, textOf } from "./rows.ts";
import { stateAfter } from "./state-after.ts";

/** Whether a transcript belongs to a thread or to an agent, according to its path. */
export interface TranscriptOf {
  /** Null if only the records name it. */
  readonly session: string | null;
  /** The thread's id if no record names one. */
  readonly fallback: string | null;
  readonly agent: string | null;
  readonly run: string | null;
}

/** Internal work has files like those of agents; they are recognised by their names. */
const INTERNAL_IDS = /^a?(compact|prompt_suggestion|session_memory|away_summary)[-_]/;

/**
 * Versions from this one on write a file for every running process, so its absence is evidence (2.1.110 does, 2.1.80
 * did not).
 */
const MARKS_PROCESS_SINCE = [2, 1, 110];

interface Surroundings {
  readonly speaker: AgentKey;
  readonly cwd: unknown;
  readonly gitBranch: unknown;
  readonly version: unknown;
}

export interface IntroductionMemory {
  readonly placed: readonly AgentKey[];
  readonly mates: readonly AgentKey[];
  readonly last: Surroundings | null;
  readonly begun: boolean;
  readonly damaged: boolean;
  readonly lacksBeginning: boolean;
  readonly isBeginStated: boolean;
}

/**
 * States once the facts that a transcript and its first records contain about the agent itself: its thread, its folder,
 * and what may have spawned it.
 */
export class Introduction {
  readonly #of: TranscriptOf;
  readonly #file: SourceFile;
  readonly #placed: Set<AgentKey>;
  readonly #mates: Set<AgentKey>;
  #last: Surroundings | null;
  /** The first conversation record was read. */
  begun: boolean;
  /** A record before the first conversation record could not be read. */
  damaged: boolean;
  #lacksBeginning: boolean;
  #isBeginStated: boolean;

  constructor(of: TranscriptOf, file: SourceFile, memory?: IntroductionMemory) {
    this.#of = of;
    this.#file = file;
    this.#placed = new Set(memory?.placed);
    this.#mates = new Set(memory?.mates);
    this.#last = memory?.last ?? null;
    this.begun = memory?.begun ?? false;
    this.damaged = memory?.damaged ?? false;
    this.#lacksBeginning = memory?.lacksBeginning ?? false;
    this.#isBeginStated = memory?.isBeginStated ?? false;
  }

  save(): IntroductionMemory {
    return {
      placed: [...this.#placed],
      mates: [...this.#mates],
      last: this.#last,
      begun: this.begun,
      damaged: this.damaged,
      lacksBeginning: this.#lacksBeginning,
      isBeginStated: this.#isBeginStated,
    };
  }

  of(out: FindingsOf, row: Row, speaker: AgentKey, session: string | null) {
    if (!this.#placed.has(speaker)) {
      // Records of inline agents may precede the thread's own; both share the file and the folder.
      const thread = this.#of.agent === null && session !== null ? key.thread(session) : speaker;
      if (!this.#placed.has(thread)) this.#placeFile(out, thread, session);
      if (thread !== speaker) {
        this.#placeFile(out, speaker, session);
        if (this.#last === null) this.#surroundings(out, row, thread, session);
      }
      this.#place(out, row, speaker, session);
      if (this.#of.agent !== null && INTERNAL_IDS.test(this.#of.agent))
        out.addOfFile({
          type: "agent-described",
          agent: speaker,
          internal: { why: "its name is that of the product's internal work", unlessSpawned: false },
        });
    }
    this.#surroundings(out, row, speaker, session);
    if (this.#of.agent !== null && !this.begun && CONVERSATION.has(row.type)) {
      this.begun = true;
      this.#introduceAgent(out, row, speaker, session);
    }
    if (this.#lacksBeginning && row.type === "user" && row.parentUuid === null) {
      this.#lacksBeginning = false;
      out.addOfFile({ type: "agent-described", agent: speaker, vouched: true });
    }
    this.#introduceMember(out, row, speaker);
  }

  /**
   * An inline agent exists only through its records. In a copy of the transcript these are copies, so nothing is stated
   * there.
   */
  #describe(out: FindingsOf, fact: AgentDescribed, session: string | null) {
    if (this.#of.agent !== null || session === null) out.addOfFile(fact);
    else if (fact.agent === key.thread(session)) out.part({ speaker: fact.agent }).addOfFile(fact);
    else out.add(fact);
  }

  #placeFile(out: FindingsOf, agent: AgentKey, session: string | null) {
    this.#placed.add(agent);
    this.#describe(
      out,
      {
        type: "agent-described",
        agent,
        file: { path: this.#file.path, bytes: this.#file.bytes, bornMs: this.#file.bornMs ?? null },
      },
      session,
    );
  }

  /** The folder, branch and version of the agent. Every record repeats them; only changes are stated. */
  #surroundings(out: FindingsOf, row: Row, speaker: AgentKey, session: string | null) {
    const { cwd, gitBranch, version } = row.json;
    const last = this.#last;
    if (
      last !== null &&
      last.speaker === speaker &&
      last.cwd === cwd &&
      last.gitBranch === gitBranch &&
      last.version === version
    )
      return;
    this.#last = { speaker, cwd, gitBranch, version };
    this.#stateBegin(out, row, speaker, session);
    const [folder, branch, productVersion] = [asNonBlank(cwd), asNonBlank(gitBranch), asNonBlank(version)];
    const described: AgentDescribed = {
      type: "agent-described",
      agent: speaker,
      ...(folder === null ? {} : { cwd: folder }),
      ...(branch === null ? {} : { branch }),
      ...(productVersion === null ? {} : { productVersion }),
    };
    this.#describe(out, described, session);
    if (
      this.#file.isForeign !== true &&
      productVersion !== null &&
      session !== null &&
      atLeast(productVersion, MARKS_PROCESS_SINCE)
    )
      this.#describe(out, { type: "agent-described", agent: key.thread(session), marksProcess: true }, session);
  }

  /** States once when and where the thread began. */
  #stateBegin(out: FindingsOf, row: Row, speaker: AgentKey, session: string | null) {
    const cwd = asNonBlank(row.json.cwd);
    if (this.#isBeginStated || cwd === null || row.at === null || session === null || speaker !== key.thread(session))
      return;
    this.#isBeginStated = true;
    const interactive = row.json.entrypoint === "cli" ? { interactive: true } : {};
    out.add({ type: "thread-began", thread: speaker, cwd, ...interactive });
  }

  /** Places the agent in its thread, as a fallback. */
  #place(out: FindingsOf, row: Row, speaker: AgentKey, session: string | null) {
    if (session === null) {
      out.addOfFile({ type: "agent-described", agent: key.UNASSIGNED, kind: "unassigned" });
      return;
    }
    const parent = key.thread(session);
    if (speaker === parent) return;
    const inline = this.#of.agent === null;
    const says = inline ? "its records are in the thread's transcript" : `its file belongs to session ${session}`;
    out.add({
      type: "parent-named",
      child: speaker,
      parent,
      rule: inline ? "isSidechain" : "sessionId",
      source: "inferred",
      confidence: 0.5,
      says,
    });
    if (this.#of.run !== null) {
      out.addOfFile({ type: "agent-described", agent: speaker, kind: "workflow" });
      out.add({
        type: "call-spawned",
        call: key.run(this.#of.run),
        child: speaker,
        rule: "workflow run",
        source: "parent_rollout",
        says: `its file lies in the folder of run ${this.#of.run}, which the call started`,
      });
      out.add({
        type: "spawn-match",
        agent: speaker,
        match: key.nestedRunMatch(session),
        rule: "workflow order",
        source: "inferred",
        exclusive: false,
        says: "its run began after an agent called a workflow, and no record names the call",
      });
    }
    if (inline) this.#matchKeys(out, row, speaker, session);
  }

  /** Distinguishes spawned agents from internal work, and gives an unnamed agent keys to match a spawn call. */
  #introduceAgent(out: FindingsOf, row: Row, speaker: AgentKey, session: string | null) {
    // If the beginning is damaged, the first readable record is not the first one.
    if (row.parentUuid !== null && !this.damaged) {
      this.#lacksBeginning = true;
      const internal = {
        why: "it begins in the middle of another conversation",
        unlessSpawned: true,
        unlessVouched: true,
      } as const;
      out.addOfFile({ type: "agent-described", agent: speaker, internal });
    }
    if (session !== null) this.#matchKeys(out, row, speaker, session);
  }

  #matchKeys(out: FindingsOf, row: Row, speaker: AgentKey, session: string) {
    const isPrompt = row.type === "user" && row.blocks.every((b) => b.is !== "tool-result");
    const prompt = isPrompt ? readUserText(textOf(row)) : null;
    if (prompt?.is === "prompt") {
      out.add({
        type: "spawn-match",
        agent: speaker,
        match: key.promptMatch(session, prompt.text),
        rule: "prompt",
        source: "inferred",
        exclusive: true,
        says: "its first prompt equals the prompt of the call",
      });
      if (isWarmUp(prompt))
        out.add({
          type: "agent-described",
          agent: speaker,
          internal: { why: "a warm-up of the product", unlessSpawned: true },
        });
    } else if (row.type === "assistant") {
      // A warm-up is one complete response. A completed agent is named by its call; only a running one has to be
      // matched.
      if (stateAfter(row)?.state === "open")
        out.add({
          type: "spawn-match",
          agent: speaker,
          match: key.orderMatch(session),
          rule: "order",
          source: "inferred",
          exclusive: true,
          says: "it began after the call, and its file contains no prompt",
        });
      else if (row.parentUuid === null && !this.damaged)
        out.add({
          type: "agent-described",
          agent: speaker,
          internal: { why: "it contains no prompt, and no call spawned it: a warm-up", unlessSpawned: true },
        });
    }
  }

  /** A team member with its own session names its team. */
  #introduceMember(out: FindingsOf, row: Row, speaker: AgentKey) {
    const [name, team] = [asNonBlank(row.json.agentName), asNonBlank(row.json.teamName)];
    if (name === null || team === null || this.#mates.has(speaker)) return;
    this.#mates.add(speaker);
    out.add({ type: "agent-described", agent: speaker, kind: "teammate", name });
    out.add({
      type: "spawn-match",
      agent: speaker,
      match: key.memberMatch(name, team),
      rule: "teamName+agentName",
      source: "child_rollout",
      exclusive: false,
      says: `its records name it ${name} of team ${team}`,
    });
  }
}

function atLeast(version: string, floor: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [i, want] of floor.entries()) {
    const got = parts[i] ?? 0;
    if (got !== want) return got > want;
  }
  return true;
}
