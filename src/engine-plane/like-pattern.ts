/** A pattern of a key (`collectionMatches`) as Postgres reads it. */
export const likeOf = (pattern: string): string =>
  pattern === "*"
    ? "%"
    : pattern
        .split(".*")
        .map((part) => part.replace(/[\\%_]/g, "\\$&"))
        .join("%")
