/**
 * Folds a tree, leaves first, without recursion, because the depth is unlimited. `childrenOf` is called once per node.
 */
export function foldTree<Node, Made>(
  root: Node,
  childrenOf: (node: Node) => readonly Node[],
  make: (node: Node, below: readonly Made[]) => Made,
): Made {
  interface Place {
    readonly node: Node;
    readonly parent: Place | null;
    readonly below: Made[];
  }
  const top: Place = { node: root, parent: null, below: [] };
  const places = [top];
  // Grows during the loop: parents before their children.
  for (const parent of places) for (const node of childrenOf(parent.node)) places.push({ node, parent, below: [] });
  for (const { node, parent, below } of places.slice(1).reverse()) parent?.below.push(make(node, below.reverse()));
  return make(root, top.below.reverse());
}
