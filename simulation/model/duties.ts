/**
 * What the gateways of one process do at this moment: the same may not be done over two cells.
 * Between processes the leases see to that.
 */
export interface Duties {
  during<T>(cellNo: number, what: string, work: () => Promise<T>): Promise<T>
}

export function openDuties(onTwice: (what: string) => void): Duties {
  const underWay = new Map<string, number>()
  return {
    async during(cellNo, what, work) {
      const other = underWay.get(what)
      if (other !== undefined && other !== cellNo) onTwice(`${what} is done over cell ${other} and over cell ${cellNo}`)
      underWay.set(what, cellNo)
      try {
        return await work()
      } finally {
        underWay.delete(what)
      }
    },
  }
}
