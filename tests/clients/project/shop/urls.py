"""None: the page writes its own."""

urlpatterns: list[object] = []
