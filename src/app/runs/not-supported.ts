/** The product does not support the operation, or does not read its input. */
export class NotSupported extends Error {
  readonly code = "not_supported";

  constructor(product: string, what: string) {
    super(`${product} cannot ${what} while it runs`);
    this.name = "NotSupported";
  }
}
