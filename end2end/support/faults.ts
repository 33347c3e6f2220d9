// What a page must never do, whatever the test is about: complain on the console, throw, or break its own policy.
import type { BrowserContext } from "@playwright/test";

export class Faults {
  private readonly seen: string[] = [];
  private readonly allowed: RegExp[] = [];

  private constructor() {}

  /** Watches every page of `context` from its first script on. */
  static async watch(context: BrowserContext): Promise<Faults> {
    const faults = new Faults();
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        const { url, lineNumber } = message.location();
        faults.seen.push(`console.${message.type()}: ${message.text()} (${url}:${lineNumber})`);
      }
    });
    context.on("weberror", (error) => faults.seen.push(`uncaught: ${error.error().stack ?? error.error().message}`));
    // The console shows most violations, but not what is only reported.
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`content security policy: ${event.effectiveDirective} refused ${event.blockedURI}`);
      });
    });
    return faults;
  }

  /** A fault the test is about, and only that one. */
  allow(pattern: RegExp): void {
    this.allowed.push(pattern);
  }

  list(): string[] {
    return this.seen.filter((fault) => !this.allowed.some((pattern) => pattern.test(fault)));
  }
}
