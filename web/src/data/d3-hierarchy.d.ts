/** The part of the package that is used; it has no types of its own. */
declare module "d3-hierarchy" {
  export interface PlacedNode<T> {
    readonly data: T;
    readonly depth: number;
    readonly parent: PlacedNode<T> | null;
    readonly children?: readonly PlacedNode<T>[];
    /** Position across the levels. */
    readonly x: number;
    /** Position along the levels. */
    readonly y: number;
    descendants(): PlacedNode<T>[];
  }
  export interface TreeLayout<T> {
    (root: unknown): PlacedNode<T>;
    nodeSize(size: readonly [number, number]): TreeLayout<T>;
    separation(apart: (a: PlacedNode<T>, b: PlacedNode<T>) => number): TreeLayout<T>;
  }
  export function stratify<T>(): {
    (items: readonly T[]): unknown;
    id(of: (item: T) => string): ReturnType<typeof stratify<T>>;
    parentId(of: (item: T) => string | null): ReturnType<typeof stratify<T>>;
  };
  export function tree<T>(): TreeLayout<T>;
}
