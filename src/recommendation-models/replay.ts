/** The job that makes an organization's models again: asked by `src/events`, done by `src/recommendations`. */
export const REPLAY = "recommendation_replay"
