/** The settings `limits`. Loads little, because hooks read them while an agent waits. */
import {
  LIMIT_ACTIONS,
  LIMIT_NAMES,
  type Limit,
  type LimitName,
  type LimitSet,
  type Limits,
} from "../../core/guard/limits.ts";
import { amount, fields, type Kind, named, oneOf, wholeOrNone } from "./setting-kinds.ts";
import type { Entry } from "./yaml.ts";

const WHOLE: ReadonlySet<LimitName> = new Set(["agents", "concurrent", "depth", "tokens"]);

const limit = (max: Kind<number>): Kind<Limit> => {
  const known = fields({ max, action: oneOf(...LIMIT_ACTIONS) }, ["max"]);
  return {
    form: `max: ${max.form}, and action: ${LIMIT_ACTIONS.join(" or ")} (default: deny)`,
    read(entry, key, report) {
      const given = known.read(entry, key, report);
      return given?.max === undefined ? undefined : { max: given.max, action: given.action ?? "deny" };
    },
  };
};

const sets = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, limit(WHOLE.has(name) ? wholeOrNone : amount)]),
) as Readonly<Record<LimitName, Kind<Limit>>>;
const set = fields(sets) as Kind<LimitSet>;

/** The limits of a settings file. `providers` are the names allowed in `by_product`. */
export const limitsKind = (providers: readonly string[]): Kind<Limits> => {
  const products = fields(Object.fromEntries(providers.map((name) => [name, set])));
  const whole = fields({
    ...sets,
    by_type: named("agent type", set),
    by_project: named("folder", set),
    by_product: products,
  });
  return {
    form: `any of ${LIMIT_NAMES.join(", ")} below it, each with max and action; the same below by_type.<type>, by_project.<folder>, by_product.<provider>`,
    read(entry: Entry, key, report) {
      const given = whole.read(entry, key, report);
      if (given === undefined) return undefined;
      const { by_type, by_project, by_product, ...general } = given;
      return {
        ...(general as LimitSet),
        ...(by_type === undefined ? {} : { by_type: Object.fromEntries(by_type) }),
        ...(by_project === undefined ? {} : { by_project: Object.fromEntries(by_project) }),
        ...(by_product === undefined ? {} : { by_product: by_product as Readonly<Record<string, LimitSet>> }),
      };
    },
  };
};
