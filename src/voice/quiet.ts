/** A twentieth of a second of silence as base64: the smallest WAV that an example can show. */
export const QUIET = `${"UklGRkQDAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YSAD".padEnd(1_126, "A")}==`
