/** A facet value as a `filter_by` that a caller sends back. Pure. */

/** Undefined for a value that no filter can express, because a backtick cannot be quoted. */
export const valueFilter = (field: string, value: string): string | undefined =>
  value === "" || value.includes("`") ? undefined : `${field}:=\`${value}\``
