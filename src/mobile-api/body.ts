/** The largest request has some forty fields, five levels and 4,000 characters. */
export const bodyLimits = { length: 65_536, depth: 16, nodes: 1_000 }
