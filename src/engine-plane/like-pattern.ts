/** A pattern of a key (`collectionMatches`) as a LIKE pattern of Postgres. */
export const likeOf = (pattern: string): string =>
  pattern === "*"
    ? "%"
    : pattern
        .split(".*")
        .map((part) => part.replace(/[\\%_]/g, "\\$&"))
        .join("%")
