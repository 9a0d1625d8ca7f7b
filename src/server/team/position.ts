/**
 * A position of the live stream on a team server: the number of the last shipment of each owner that the viewer may
 * see. Valid on every server of the database. The sum at the end orders the positions of one viewer by age.
 */
export function formatPosition(seqs: ReadonlyMap<string, number>): string {
  const sum = [...seqs.values()].reduce((total, seq) => total + seq, 0);
  return `${[...seqs].map(([owner, seq]) => `${owner}:${seq}`).join(",")}-${sum}`;
}

/** Null if it is not a position. */
export function parsePosition(text: string): Map<string, number> | null {
  const list = /^(.*)-\d+$/.exec(text)?.[1];
  if (list === undefined) return null;
  const seqs = new Map<string, number>();
  for (const part of list === "" ? [] : list.split(",")) {
    const [, owner, seq] = /^([^:,]+):(\d{1,15})$/.exec(part) ?? [];
    if (owner === undefined) return null;
    seqs.set(owner, Number(seq));
  }
  return seqs;
}
