// Parameters of cases.

/** A request that this subject cannot serve. */
export class Unsupported extends Error {}

/** True if there are exactly these parameters, each within its limits. */
export function within(given, names, limits) {
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) {
      throw new Unsupported(`this case has no parameter ${name}`);
    }
  }
  for (const name of names) {
    const least = name === 'bytes' ? 0 : 1;
    if (!(given[name] >= least && given[name] <= limits[name])) {
      throw new Unsupported(`${name} must be from ${least} to ${limits[name]}`);
    }
  }
}
