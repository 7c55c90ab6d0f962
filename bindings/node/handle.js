// Objects of a WebAssembly module, which knows them by numbers.

/** Returns the class of the objects of a module. */
export function handleOf(call) {
  /** Objects that were not freed are freed when JavaScript has no use for them. */
  const forgotten = new FinalizationRegistry(({ kind, number }) => {
    try {
      call(`${kind}_free`, [number]);
    } catch {
      // The module has stopped, and its memory was wiped.
    }
  });

  return class Handle {
    #kind;
    #number;

    constructor(kind, number) {
      this.#kind = kind;
      this.#number = number;
      forgotten.register(this, { kind, number }, this);
    }

    get number() {
      if (!this.#number) throw new Error(`argument: the ${this.#kind} was disposed of`);
      return this.#number;
    }

    free() {
      if (!this.#number) return;
      forgotten.unregister(this);
      call(`${this.#kind}_free`, [this.#number]);
      this.#number = 0;
    }
  };
}
