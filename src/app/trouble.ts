import type { AgentKey } from "../core/ids.ts";
import { agentOf, type Forest, subtreeOf } from "../core/link.ts";
import { PROBLEMS, type Problem } from "../core/problem.ts";
import type { Library } from "./library.ts";

/** Whole files or databases that could not be read, or are not what their place says. */
const SOURCES: ReadonlySet<Problem["code"]> = new Set([
  "file-unreadable",
  "database-unreadable",
  "database-unknown",
  "log-without-database",
  "agent-file-not-sidechain",
  "agent-file-foreign",
  "decisions-unreadable",
]);

const isLoss = ({ code }: Problem) => PROBLEMS[code][0] !== "info";
/** Where the agents of a transcript may lie: a folder of its name. */
const folderBeside = (transcript: string) => transcript.replace(/\.[^./]*$/, "");
const fileOf = (place: string) => place.replace(/:\d+$/, "");

/** What could not be read of the agent and of everybody below it: their files, and files of the thread that gave nothing. */
export function troubleOf(library: Library, forest: Forest, agent: AgentKey): readonly Problem[] {
  const files = new Set(subtreeOf(forest, agent).flatMap((key) => agentOf(forest, key).files.map(({ path }) => path)));
  const folders = agentOf(forest, agent).files.map(({ path }) => folderBeside(path));
  const isMine = ({ where }: Problem) => {
    const path = fileOf(where);
    return [...files].some((file) => file === path || file.startsWith(`${path}#`)) || folders.some((folder) => path.startsWith(`${folder}/`));
  };
  return [...library.store.problemsOf([...files], folders), ...library.problems.filter(isMine)].filter(isLoss);
}

/** Files of a thread and in its folder that are empty or hold what cannot be read, with what is wrong. */
export function troubledFiles(library: Library, transcripts: readonly string[]): readonly { readonly path: string; readonly says: string }[] {
  const folders = transcripts.map(folderBeside);
  const isMine = ({ where }: Problem) => transcripts.includes(fileOf(where)) || folders.some((folder) => where.startsWith(`${folder}/`));
  const now = [...library.problems, ...library.unfinished()].filter(isMine);
  const byFile = Map.groupBy([...now, ...library.store.problemsOf(transcripts, folders)], ({ where }) => fileOf(where));
  return [...byFile].map(([path, problems]) => ({
    path,
    says: problems.some(({ code }) => code === "file-empty")
      ? "is empty"
      : `is invalid or incomplete: ${[...new Set(problems.map(({ code }) => code))].join(", ")}`,
  }));
}

/** What could not be read on the whole machine. */
export function allTrouble(library: Library): readonly Problem[] {
  const kept = library.store.problems(1).flatMap(({ code, count, examples }) => examples.map((example) => ({ ...example, code, times: count })));
  return [...kept, ...library.problems].filter((problem) => isLoss(problem) && (SOURCES.has(problem.code) || isOfRecord(problem)));
}

const isOfRecord = ({ code }: Problem) => /^(?:line|record|text)-/.test(code);

/** Sources that nothing was read from. */
export const unreadSources = (problems: readonly Problem[]) => problems.filter(({ code }) => SOURCES.has(code));

/** One line for a person; null where everything could be read. */
export function troubleLine(problems: readonly Problem[]): string | null {
  const sources = unreadSources(problems);
  const broken = problems.filter(isOfRecord);
  const lines = broken.reduce((sum, { times = 1 }) => sum + times, 0);
  const told = [
    ...(lines === 0 ? [] : [`broken records skipped: ${lines} (${broken[0]?.where}${broken.length > 1 || lines > 1 ? ", …" : ""})`]),
    ...(sources.length === 0
      ? []
      : [`could not read ${sources[0]?.where}: ${sources[0]?.detail}${sources.length === 1 ? "" : `, and ${sources.length - 1} more`}`]),
  ];
  return told.length === 0 ? null : `retinue: ${told.join("; ")}; retinue doctor tells more`;
}
