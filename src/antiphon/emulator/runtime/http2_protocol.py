"""`h2`'s side of a server, but for what it does otherwise than servers of AWS's clients have to."""

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event
from h2.settings import SettingCodes, Settings
from hyperframe.frame import DataFrame, Frame, GoAwayFrame


class ServerConnection(H2Connection):
    """A connection on which a client's goodbye ends no stream.

    A GOAWAY says that its sender takes no new streams; those there are go on (RFC 9113 §6.8). AWS's SDK for JavaScript
    sends one as soon as a stream has its response. `h2` takes it for the end of everything.

    Args:
        max_streams: at once.
        stream_window: in bytes.
        connection_window: in bytes.
        max_header_bytes: of one request.
    """

    def __init__(self, max_streams: int, stream_window: int, connection_window: int, max_header_bytes: int) -> None:
        super().__init__(H2Configuration(client_side=False, header_encoding="latin-1"))
        self.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: max_streams,
                SettingCodes.INITIAL_WINDOW_SIZE: stream_window,
                SettingCodes.MAX_HEADER_LIST_SIZE: max_header_bytes,
            },
        )
        self.decoder.max_header_list_size = max_header_bytes
        self.initiate_connection()
        self.increment_flow_control_window(connection_window - self.inbound_flow_control_window)

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        if frame.error_code != ErrorCodes.NO_ERROR:
            return super()._receive_goaway_frame(frame)
        event = ConnectionTerminated()
        event.error_code = ErrorCodes.NO_ERROR
        event.last_stream_id = frame.last_stream_id
        return [], [event]

    def _receive_frame(self, frame: Frame) -> list[Event]:
        # `h2` writes every frame out for a log that is off: of those with data, that takes as long as to receive them.
        if type(frame) is not DataFrame:
            return super()._receive_frame(frame)
        frames, events = self._receive_data_frame(frame)
        self._prepare_for_sending(frames)
        return events
