/**
 * How shell commands start a product, as far as the commands of other agents show it. Lists are words separated by
 * spaces. A fork of a product inherits what it does not declare itself (`forkOf`).
 */
export interface CommandLine {
  /** Its programs, and its packages for `npx` and the like. */
  readonly names: string;
  /** Sub-commands that run it without a terminal. */
  readonly runs?: string;
  /** Flags that do so, if no sub-command does. */
  readonly prints?: string;
  /** Sub-commands and flags that start no thread. */
  readonly others?: string;
  /** Flags and sub-commands that continue a thread instead of starting one. */
  readonly continues?: string;
  /** With one of these a continued thread becomes a new one. */
  readonly forks?: string;
  /** The option that names the id of the new thread. */
  readonly id?: string;
  /** The options that name its folder. */
  readonly folder?: string;
}

/** The variables that a product sets in the environment of its shell commands. */
export interface ShellVariables {
  /** Names the thread of the agent; omitted if none does. */
  readonly thread?: string;
  /** Its value is the id of the agent that runs the command, even if that is not a top-level thread. */
  readonly isAgent?: true;
  /** Names the agent in the thread; empty for the thread itself. */
  readonly agent?: string;
  /** Names the tool call. */
  readonly call?: string;
  /** Those that show only that some agent is above a process. */
  readonly marks?: string;
}
