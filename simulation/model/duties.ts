interface Duty {
  over: number
  what: string
  /**
   * Whether the process still owns it. If not, another one may begin it, and so may this process
   * over another cell: a step is begun again as after every lease that was lost, and once a process
   * that was late reports an unanswered reversal, no process owns the one that was repeated since.
   */
  isOwned: () => boolean
}

/**
 * What the gateways of one process do at this moment: the same may not be done over two cells.
 * Between processes the leases see to that.
 */
export interface Duties {
  during<T>(duty: Duty, work: () => Promise<T>): Promise<T>
}

export function openDuties(onTwice: (what: string) => void): Duties {
  const underWay = new Map<string, Duty>()
  return {
    async during(duty, work) {
      const { what, over } = duty
      const other = underWay.get(what)
      if (other && other.over !== over && other.isOwned())
        onTwice(`${what} is done over cell ${other.over} and over cell ${over}`)
      underWay.set(what, duty)
      try {
        return await work()
      } finally {
        if (underWay.get(what) === duty) underWay.delete(what)
      }
    },
  }
}
