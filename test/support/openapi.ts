/** Checks responses against the OpenAPI document. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

interface Operation {
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: object }> }>;
}
export interface ApiDocument {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: object;
}
/** The document is the same for every server. */
const compiled = new Map<string, ValidateFunction>();
/** The documented response schema of this route, with no additional properties allowed. */
function validatorOf(document: ApiDocument, route: string, method: string, status: number): ValidateFunction {
  const name = `${method} ${route} ${status}`;
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const schema = document.paths[route]?.[method]?.responses[status]?.content?.["application/json"]?.schema;
  if (schema === undefined) throw new Error(`the document does not know ${name}`);
  const closed = JSON.parse(JSON.stringify({ ...schema, components: document.components }), (_, value: unknown) =>
    isObjectSchema(value) ? { additionalProperties: false, ...value } : value,
  ) as object;
  const root = {
    ...closed,
    additionalProperties: (schema as { additionalProperties?: unknown }).additionalProperties ?? true,
  };
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(root);
  compiled.set(name, validate);
  return validate;
}
const isObjectSchema = (value: unknown): value is object =>
  typeof value === "object" && value !== null && "type" in value && value.type === "object" && "properties" in value;

/** The error in a response; null if it is as documented. */
export function faultsIn(
  document: ApiDocument,
  route: string,
  method: string,
  status: number,
  body: unknown,
): ValidateFunction["errors"] | null {
  const validate = validatorOf(document, route, method.toLowerCase(), status);
  return validate(body) ? null : validate.errors;
}
