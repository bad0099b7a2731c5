/** Valid names of profiles and policies. */
export const nameRefusal = (text: string): string | undefined =>
  /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text)
    ? undefined
    : "1 to 64 characters: small letters, digits, `_` and `-`, a letter or digit first"
