/**
 * What a command that seldom asks over HTTP loads on demand. In a bundle, a package of the older
 * kind has no names of its own when it is imported on demand.
 */
export { Agent, request } from 'undici'
