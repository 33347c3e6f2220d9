// The JSON API, for what a test has to find in place.
import type { APIRequestContext } from "@playwright/test";

export class Api {
  constructor(
    private readonly request: APIRequestContext,
    private readonly url: string,
  ) {}

  get<T>(path: string): Promise<T> {
    return this.call<T>("GET", path);
  }

  post<T>(path: string, body: unknown = {}): Promise<T> {
    return this.call<T>("POST", path, body);
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.call<T>("PATCH", path, body);
  }

  delete<T>(path: string): Promise<T> {
    return this.call<T>("DELETE", path);
  }

  /** `path` is below `/api/v1`. Anything but a 2xx fails the test with the answer's body. */
  private async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.request.fetch(`${this.url}/api/v1${path}`, {
      method,
      // What changes something must come from our own pages; this stands for one.
      headers: { origin: this.url },
      ...(body === undefined ? {} : { data: body }),
    });
    const text = await response.text();
    if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }
}
