"""Routers, one module each: how requests are spread over replicas."""
