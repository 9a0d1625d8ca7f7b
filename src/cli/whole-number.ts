import { Failure } from "../app/failure.ts";

export function wholeNumber(option: string, given: string, of: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1)
    throw new Failure("usage", `${option} ${given}: not a valid number of ${of}`, [
      `write a positive integer, such as ${option} 50`,
    ]);
  return number;
}
