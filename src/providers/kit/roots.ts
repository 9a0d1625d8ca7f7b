/** The folders in an environment variable, separated by commas. */
export const listIn = (value: string | undefined): readonly string[] =>
  (value ?? "")
    .split(",")
    .map((dir) => dir.trim())
    .filter((dir) => dir !== "");
