import type { AgentKey } from "../../core/facts/ids.ts";
import { PROBLEMS, type Problem } from "../../core/facts/problem.ts";
import { agentOf, type Forest, subtreeOf } from "../../core/link/forest.ts";
import type { Library } from "../ingest/library.ts";

/** Codes of problems that concern a whole file or database. */
const SOURCES: ReadonlySet<Problem["code"]> = new Set([
  "file-unreadable",
  "database-unreadable",
  "database-unknown",
  "log-without-database",
  "agent-file-unmarked",
  "agent-file-foreign",
  "decisions-unreadable",
]);

const isLoss = ({ code }: Problem) => PROBLEMS[code][0] !== "info";
/** The folder named after a transcript, which may hold the transcripts of its agents. */
const folderOf = (transcript: string) => transcript.replace(/\.[^./]*$/, "");
const fileOf = (place: string) => place.replace(/:\d+$/, "");

/** Problems of the agent and its subtree: of their files, and of files of the thread without usable records. */
export function troubleOf(library: Library, forest: Forest, agent: AgentKey): readonly Problem[] {
  const files = new Set(subtreeOf(forest, agent).flatMap((key) => agentOf(forest, key).files.map(({ path }) => path)));
  const folders = agentOf(forest, agent).files.map(({ path }) => folderOf(path));
  const isRelevant = ({ where }: Problem) => {
    const path = fileOf(where);
    return (
      [...files].some((file) => file === path || file.startsWith(`${path}#`)) ||
      folders.some((folder) => path.startsWith(`${folder}/`))
    );
  };
  return [...library.store.problemsOf([...files], folders), ...library.problems.filter(isRelevant)].filter(isLoss);
}

/** Empty or unreadable files of a thread and its folder, with the reason. */
export function troubledFiles(
  library: Library,
  transcripts: readonly string[],
): readonly { readonly path: string; readonly text: string }[] {
  const folders = transcripts.map(folderOf);
  const isRelevant = ({ where }: Problem) =>
    transcripts.includes(fileOf(where)) || folders.some((folder) => where.startsWith(`${folder}/`));
  const now = [...library.problems, ...library.unfinished()].filter(isRelevant);
  const byFile = Map.groupBy([...now, ...library.store.problemsOf(transcripts, folders)], ({ where }) => fileOf(where));
  return [...byFile].map(([path, problems]) => ({
    path,
    text: problems.some(({ code }) => code === "file-empty")
      ? "is empty"
      : `is invalid or incomplete: ${[...new Set(problems.map(({ code }) => code))].join(", ")}`,
  }));
}

/** Problems of the whole machine. */
export function allTrouble(library: Library): readonly Problem[] {
  const stored = library.store
    .problems(1)
    .flatMap(({ code, count, examples }) => examples.map((example) => ({ ...example, code, times: count })));
  return [...stored, ...library.problems].filter(
    (problem) => isLoss(problem) && (SOURCES.has(problem.code) || isOfRecord(problem)),
  );
}

const isOfRecord = ({ code }: Problem) => /^(?:line|record|text)-/.test(code);

/** Sources of which nothing could be read. */
export const unreadSources = (problems: readonly Problem[]) => problems.filter(({ code }) => SOURCES.has(code));

/** One line for the user; null if everything could be read. */
export function troubleLine(problems: readonly Problem[]): string | null {
  const sources = unreadSources(problems);
  const broken = problems.filter(isOfRecord);
  const lines = broken.reduce((sum, { times = 1 }) => sum + times, 0);
  const parts = [
    ...(lines === 0
      ? []
      : [`broken records skipped: ${lines} (${broken[0]?.where}${broken.length > 1 || lines > 1 ? ", …" : ""})`]),
    ...(sources.length === 0
      ? []
      : [
          `could not read ${sources[0]?.where}: ${sources[0]?.detail}${sources.length === 1 ? "" : `, and ${sources.length - 1} more`}`,
        ]),
  ];
  return parts.length === 0 ? null : `retinue: ${parts.join("; ")}; see retinue doctor`;
}
