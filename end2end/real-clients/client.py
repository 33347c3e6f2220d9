"""A client of the Python SDK that does what its standard input says, one JSON object a line, and answers the same way.

{"op": "list"}, {"op": "call", "name": …, "arguments": …}, {"op": "changed"}: the names of the tools, a call's structured
result, and, once the server has said that its list changed, the names again.
"""

import json
import sys

import anyio
import httpx2
from anyio import to_thread
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ToolListChangedNotification


async def names(client: Client) -> list[str]:
    # What is kept of an earlier list is not asked for.
    return [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]


async def serve(url: str, token: str, mode: str) -> None:
    told = anyio.Event()

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    async def listen(client: Client, *, task_status) -> None:
        async with client.listen(tools_list_changed=True) as changes:
            task_status.started()
            async for _ in changes:
                told.set()

    timeout = httpx2.Timeout(30, read=300)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=timeout) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, message_handler=heard, cache=None) as client, anyio.create_task_group() as group:
            if mode != "legacy":
                await group.start(listen, client)
            say({"version": client.protocol_version})
            while line := await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
                asked = json.loads(line)
                match asked["op"]:
                    case "list":
                        say(await names(client))
                    case "call":
                        result = await client.call_tool(asked["name"], asked["arguments"])
                        say({"error": result.is_error, "data": result.structured_content})
                    case "changed":
                        await told.wait()
                        say(await names(client))
            group.cancel_scope.cancel()


def say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


anyio.run(serve, *sys.argv[1:])
