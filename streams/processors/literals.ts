/** How rows are sent to Postgres: columns as array literals, so many rows per statement. */

export const ROWS_PER_STATEMENT = 10_000

/**
 * Array literals rather than arrays: the driver inspects every element of an array to find its type, which costs more
 * than writing the text ourselves.
 */
export const numbersLiteral = (values: ReadonlyArray<number | string>): string => `{${values.join(",")}}`
export const textsLiteral = (values: ReadonlyArray<string>): string =>
  `{${values.map((value) => `"${/["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value}"`).join(",")}}`
